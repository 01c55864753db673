#!/usr/bin/env bash
# What happened when, on each queue and each GPU? Runs shardmark under Nsight Systems with the flags that its ranges and its
# capture range (cudaProfilerStart and Stop around the measured steps) are made for. NSIGHT.md says what to look for.
set -euo pipefail

program=profilers/capture_nsys.sh
tool=nsys suffix=.nsys-rep
why_none="nobody called cudaProfilerStart, as without a GPU; -a captures all of the run"
# shellcheck source=profilers/capture_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/capture_common.sh"

usage() {
  cat <<'TEXT'
usage: profilers/capture_nsys.sh [flags] -- shardmark run ...

  profilers/capture_nsys.sh -o zero3 -- build-cuda/shardmark run --device cuda --comm nccl --model gpt2 \
    --strategy zero3 --ranks 4 --rounds 1
  profilers/capture_nsys.sh -n 4 -o ddp -- build-cuda/shardmark run --device cuda --comm nccl --model gpt2 \
    --strategy ddp --ranks 4 --rounds 1
  srun -n 16 profilers/capture_nsys.sh -o all -- build-cuda/shardmark run ...

  -o NAME     the report is NAME.nsys-rep; default shardmark
  -n RANKS    ranks are processes of mpirun, each under a profiler of its own: NAME.rank0.nsys-rep ... Without it, and
              started by mpirun or srun, each rank writes a report of that name as well; else one report has all
  -c CELLS    captures the measured steps of CELLS cells, each in a report of its own (NAME.1.nsys-rep ...); default: of the
              first cell alone
  -a          captures all of the run, set-up and warm-up too; without a GPU nothing else is captured

Times of a captured run are no measurements. Exit code: 2 where nothing could be run, 1 without a report, else the command's.
TEXT
}

name=shardmark ranks="" cells="" all=no
command=()
while (($# > 0)); do
  flag=$1
  shift
  case $flag in
    --help | -h) usage && exit 0 ;;
    -a) all=yes ;;
    --) command=("$@") && break ;;
    -o | -n | -c)
      value_of "$flag" $#
      case $flag in
        -o) name=$1 ;;
        -n) whole_number -n "$1" && ranks=$1 ;;
        -c) whole_number -c "$1" && cells=$1 ;;
      esac
      shift
      ;;
    *) refuse "$flag: unknown; --help shows the flags, and what is to run follows --." ;;
  esac
done
[[ $all == no || -z $cells ]] || refuse "-a and -c $cells: all of the run is one report."
need nsys "install Nsight Systems (2024.2 or newer), which the CUDA Toolkit has as well"
[[ -z $ranks ]] || need mpirun "install Open MPI (libopenmpi-dev), or leave out -n"
check_command

trace=cuda,nvtx,osrt
[[ -z $(rank_variable) ]] || trace+=,mpi
# NCCL's own ranges carry its message sizes. Sampling and context switches of processors would only disturb.
flags=("--output=$(report_name)" "--trace=$trace" "--nvtx-domain-include=shardmark,NCCL" --sample=none --cpuctxsw=none)
# Some versions trace events unless told not to, and order kernels of different streams by it; others do not know the flag.
if [[ $(nsys profile --help 2>&1) == *--cuda-event-trace* ]]; then
  flags+=(--cuda-event-trace=false)
fi
if [[ $all == no ]]; then
  flags+=(--capture-range=cudaProfilerApi "--capture-range-end=${cells:+repeat:}${cells:-stop}")
fi
if [[ -n $cells ]]; then
  written=$(report_files)
  # shellcheck disable=SC2034 # capture reads it
  report_files_written="${written%"$suffix"}*$suffix"
fi
# Cells are processes that run starts: nsys follows what a process executes by itself.
capture nsys profile "${flags[@]}"
