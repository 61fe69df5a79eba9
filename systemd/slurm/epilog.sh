#!/bin/sh
# Slurm epilog: the job has its GPUs no longer. In slurm.conf:
#   Epilog=/usr/local/libexec/fabric-exporter/epilog.sh
# Exit status: always 0. Slurm drains a node whose epilog fails, and a file that could not be changed is not worth a node.
PATH=${PATH:+$PATH:}/opt/fabric-exporter/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
[ ! -r /etc/default/fabric-exporter-slurm ] || . /etc/default/fabric-exporter-slurm

"$here/job-map.sh" remove || echo "fabric-exporter: the job may still be in the job directory" >&2
exit 0
