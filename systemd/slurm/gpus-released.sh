#!/bin/sh
# gpus-released.sh COMMAND… runs a command that needs the GPUs for itself: `nvidia-smi --gpu-reset`, switching MIG, reloading the driver. The
# exporter lets go of them first and takes them back afterwards, whatever becomes of the command; it serves everything else meanwhile.
#
# Where no daemon runs, nobody holds the GPUs and the command is run. Exit status: the command's, 2 without one.
PATH=${PATH:+$PATH:}/opt/fabric-exporter/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
if [ $# -eq 0 ]; then
    echo "gpus-released.sh: name the command to run, such as nvidia-smi --gpu-reset" >&2
    exit 2
fi
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'fabric-exporter resume >&2 || true' EXIT
fabric-exporter release >&2 || echo "gpus-released.sh: going on; if the exporter still holds the GPUs, the command will say so" >&2
"$@"
