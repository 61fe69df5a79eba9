#!/bin/sh
# Slurm prolog: keeps jobs off a node whose fabric has failed, and notes which job has which GPU. In slurm.conf:
#   Prolog=/usr/local/libexec/fabric-exporter/prolog.sh
#   PrologFlags=Alloc
# Only a link that has failed keeps a job away. What cannot be seen, a wrong configuration, a broken installation or an answer that takes too
# long does not: an exporter must not drain a cluster.
#
# Settings, in the environment or in /etc/default/fabric-exporter-slurm: FAIL_ON (failed), WINDOW (2s: how long to look where no daemon
# answers). Exit status: 0 the job may run; 1 the node is drained and says why, and Slurm puts the job back.
PATH=${PATH:+$PATH:}/opt/fabric-exporter/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin # slurmd runs prologs without one
export PATH
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
[ ! -r /etc/default/fabric-exporter-slurm ] || . /etc/default/fabric-exporter-slurm

# COLUMNS: the first line is the reason, so it must not be folded.
report=$(COLUMNS=400 timeout 20 fabric-exporter check --prolog --window "${WINDOW:-2s}" --fail-on "${FAIL_ON:-failed}")
# A Python that does not even start ends with 1 too, but has reported nothing.
if [ $? -eq 1 ] && [ -n "$report" ]; then
    "$here/drain.sh" "$report"
    exit 1
fi
"$here/job-map.sh" add || echo "fabric-exporter: the job is not in the job directory; it runs all the same" >&2
exit 0
