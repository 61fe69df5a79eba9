#!/bin/sh
# drain.sh REPORT drains this node; the first line of the report becomes the reason, so that `sinfo -R` shows which link failed and how.
# drain.sh --resume puts it back to work if it was drained so, and leaves every other drain alone.
#
# A node that somebody drained already keeps their reason. Ours begins with `fabric-exporter:`: the exporter does not take it for maintenance, so
# the node's own alert still rings. Exit status: that of scontrol, 0 if there was nothing to do.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
OURS="fabric-exporter:"
REASON_LENGTH_MAX=200

node=${SLURMD_NODENAME:-$(hostname -s)}
# Nobody to ask is no reason not to drain.
known=$(timeout 10 scontrol --oneliner show node "$node")
state=$(printf '%s\n' "$known" | sed -n 's/.*[[:space:]]State=\([^[:space:]]*\).*/\1/p' | head -n 1)
reason=$(printf '%s\n' "$known" | sed -n 's/.*[[:space:]]Reason=\(.*\)/\1/p' | head -n 1)
case $state in
*DRAIN*) is_drained=yes ;;
*) is_drained=no ;;
esac

if [ "${1:-}" = --resume ]; then
    case $is_drained,$reason in
    yes,"$OURS"*) exec timeout 10 scontrol update "nodename=$node" state=resume ;;
    esac
    exit 0
fi
[ "$is_drained" = no ] || exit 0
said=$(printf '%s\n' "${1:-no report}" | head -n 1 | tr -d '"\r' | cut -c "1-$REASON_LENGTH_MAX")
exec timeout 10 scontrol update "nodename=$node" state=drain "reason=$OURS $said"
