#!/bin/sh
# job-map.sh add|remove keeps the job directory (docs/jobs.md, option jobs.directory): a file for each GPU index with one job id a line, in
# dcgm-exporter's format. prolog.sh and epilog.sh call it; a site with a prolog of its own may call it from there.
#
# Reads SLURM_JOB_ID and SLURM_JOB_GPUS (0,1 or 0-3). A job without GPUs is in no file. GPU_JOBS names the directory (/run/gpu-jobs, which is
# empty after a boot; only root may write there). Exit status: 0 done, 1 the directory cannot be changed, 2 a wrong call.
set -eu
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
umask 022
INDEX_MAX=9999
dir=${GPU_JOBS:-/run/gpu-jobs}
job=${SLURM_JOB_ID:-}

complain() {
    echo "job-map.sh: $1" >&2
}

case $job in
'' | *[!0-9]*)
    complain "SLURM_JOB_ID is \"$job\" and no number; run it from a prolog or epilog"
    exit 2
    ;;
esac

# indices: each GPU index of the job on a line of its own.
indices() {
    printf '%s\n' "${SLURM_JOB_GPUS:-}" | tr ',' '\n' | while IFS= read -r word; do
        first=${word%-*} last=${word#*-}
        case $first,$last in
        ,) ;;
        *[!0-9,]* | ,* | *, | ?????*,* | *,?????*) complain "SLURM_JOB_GPUS names \"$word\", which is no index up to $INDEX_MAX; passed over" ;;
        *) seq "$first" "$last" ;;
        esac
    done
}

add() {
    for gpu in $(indices); do
        grep -qsxF "$job" "$dir/$gpu" || echo "$job" >>"$dir/$gpu"
    done
}

# remove: a file whose last job has ended goes away, and what is read meanwhile is whole.
remove() {
    for file in "$dir"/[0-9]*; do
        grep -qsxF "$job" "$file" || continue
        if grep -vxF "$job" "$file" >"$dir/.new"; then
            mv "$dir/.new" "$file"
        else
            rm -f "$file" "$dir/.new"
        fi
    done
}

case ${1:-} in
add | remove) ;;
*)
    complain "say add or remove"
    exit 2
    ;;
esac
# Several jobs may start and end at once.
if ! mkdir -p "$dir" || ! touch "$dir/.lock"; then
    complain "$dir cannot be changed; make it writable for root, or name another with GPU_JOBS"
    exit 1
fi
exec 9>"$dir/.lock"
if ! flock -w 10 9; then
    complain "$dir/.lock is held for more than 10 s; look who has it with fuser"
    exit 1
fi
"$1"
