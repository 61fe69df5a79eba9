#!/bin/sh
# Slurm HealthCheckProgram: drains the node when a link fails while no job starts, so that running jobs end and no new one comes. In slurm.conf:
#   HealthCheckProgram=/usr/local/libexec/fabric-exporter/health-check.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=ANY,CYCLE
# Slurm kills it after 60 s. A node that is drained already keeps its reason.
#
# Settings, in the environment or in /etc/default/fabric-exporter-slurm: FAIL_ON (failed), RESUME (no; yes: a node that drain.sh drained goes
# back to work once every link is well again and everything can be seen). Exit status: always 0.
PATH=${PATH:+$PATH:}/opt/fabric-exporter/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
[ ! -r /etc/default/fabric-exporter-slurm ] || . /etc/default/fabric-exporter-slurm

report=$(COLUMNS=400 timeout 40 fabric-exporter check --window 10s --fail-on "${FAIL_ON:-failed}")
status=$?
# A Python that does not even start ends with 1 too, but has reported nothing.
if [ $status -eq 1 ] && [ -n "$report" ]; then
    "$here/drain.sh" "$report"
elif [ $status -eq 0 ] && [ "${RESUME:-no}" = yes ]; then
    "$here/drain.sh" --resume
fi
exit 0
