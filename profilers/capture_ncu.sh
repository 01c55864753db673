#!/usr/bin/env bash
# Why does a kernel take as long as it does? Runs shardmark under Nsight Compute, which measures single kernels: by default a
# few of one phase, within the measured steps. NSIGHT.md says which ranges there are.
set -euo pipefail

program=profilers/capture_ncu.sh
tool=ncu suffix=.ncu-rep
why_none="no kernel was in such a range, ncu may not read counters (ERR_NVGPUCTRPERM), or nobody called cudaProfilerStart"
# shellcheck source=profilers/capture_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/capture_common.sh"

usage() {
  cat <<'TEXT'
usage: profilers/capture_ncu.sh [flags] -- shardmark run ...

  profilers/capture_ncu.sh -o block -r "forward block 0" -- build-cuda/shardmark run --device cuda --model gpt2 \
    --strategy ddp --ranks 1 --rounds 1
  profilers/capture_ncu.sh -s full -r "regex:update .*" -k 4 -- build-cuda/shardmark run ...

  -o NAME     the report is NAME.ncu-rep; default shardmark
  -n RANKS    ranks are processes of mpirun, each under a profiler of its own: NAME.rank0.ncu-rep ... Without it, and
              started by mpirun or srun, each rank writes a report of that name as well
  -r RANGE    kernels of this range alone, as it is called in a timeline: "forward block 0", "update segment 2";
              regex:EXPRESSION for many; default: of any range
  -k KERNELS  how many are measured; default 20. Each is run again and again
  -s SET      basic (seconds), detailed or full (all that Nsight Compute knows); default basic

Kernels of NCCL are left out: each waits for its peers, and a kernel that is run again waits for ever. One rank (--ranks 1)
has the same kernels of forward and backward as many have. Exit code: 2 where nothing could be run, 1 without a report, else
the command's.
TEXT
}

name=shardmark ranks="" range="" kernels=20 set=basic
command=()
while (($# > 0)); do
  flag=$1
  shift
  case $flag in
    --help | -h) usage && exit 0 ;;
    --) command=("$@") && break ;;
    -o | -n | -r | -k | -s)
      value_of "$flag" $#
      case $flag in
        -o) name=$1 ;;
        -n) whole_number -n "$1" && ranks=$1 ;;
        -r) range=$1 ;;
        -k) whole_number -k "$1" && kernels=$1 ;;
        -s) set=$1 ;;
      esac
      shift
      ;;
    *) refuse "$flag: unknown; --help shows the flags, and what is to run follows --." ;;
  esac
done
[[ $set =~ ^(basic|detailed|full)$ ]] || refuse "-s $set: may be basic, detailed or full."
need ncu "install Nsight Compute, which the CUDA Toolkit has as well"
[[ -z $ranks ]] || need mpirun "install Open MPI (libopenmpi-dev), or leave out -n"
check_command

# domain@range/ is a range that is pushed and popped, as ours are. By default ncu locks clocks to the base, at which no
# training runs; that it empties caches before each kernel stays, since what a replay leaves in them is not training's either.
flags=(--export "$(report_name)" --target-processes all --profile-from-start off --set "$set" --launch-count "$kernels"
  --clock-control none --kernel-name "regex:^(?!nccl).*$" --nvtx)
if [[ $range == regex:* ]]; then
  flags+=(--nvtx-include "regex:shardmark@${range#regex:}/")
elif [[ -n $range ]]; then
  flags+=(--nvtx-include "shardmark@$range/")
fi
capture ncu "${flags[@]}"
