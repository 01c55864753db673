#!/usr/bin/env bash
# Do the capture scripts hand the profilers the flags that shardmark's ranges need, and say what is wrong? Profilers and
# mpirun are scripts that write down what they were given; nsys and ncu write a report as well, unless told not to.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
here=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
base=$PATH
unset OMPI_COMM_WORLD_RANK SLURM_PROCID SLURM_STEP_ID FAKE_NO_REPORT FAKE_HELP
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

fake() { # name, then its script after the line that writes down its words
  {
    # shellcheck disable=SC2016 # for the script to expand
    printf '#!/usr/bin/env bash\nprintf "[%%s]" "${0##*/}" "$@" >>"%s/said"\necho >>"%s/said"\n' "$scratch" "$scratch"
    cat
  } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# shellcheck disable=SC2016 # the scripts expand
make_fakes() {
  mkdir "$scratch/bin"
  cd "$scratch" || exit 1
  local report='
    [[ $output =~ ^(.*)%q\{(.*)\}$ ]] && output=${BASH_REMATCH[1]}${!BASH_REMATCH[2]}
    [[ -n ${FAKE_NO_REPORT:-} ]] || touch "$output"'
  fake nsys <<<'
    if [[ $* == "profile --help" ]]; then echo "${FAKE_HELP:-}" && exit; fi
    for word in "$@"; do [[ $word == --output=* ]] && output=${word#--output=}; done
    for word in "$@"; do [[ $word == *=repeat:* ]] && part=.1; done'"$report"'"${part:-}.nsys-rep"
    while [[ $1 == profile || $1 == --* ]]; do shift; done
    exec "$@"'
  fake ncu <<<'
    while [[ $1 == --* ]]; do
      [[ $1 == --export ]] && output=$2
      [[ $1 == --nvtx ]] || shift
      shift
    done'"$report"'.ncu-rep
    exec "$@"'
  fake mpirun <<<'for rank in 0 1; do OMPI_COMM_WORLD_RANK=$rank "${@:5}" || exit; done'
  fake shardmark <<<'
    [[ $EUID -ne 0 || $OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM == 11 ]] || exit 3
    exit ${FAKE_CODE:-0}'
  PATH=$scratch/bin:$base
}

# Runs a script; what the programs were given is then in $said, what it printed in $printed, and its exit code in $code.
run() {
  rm -f "$scratch/said" ./*-rep
  again "$@"
}
again() {
  local script=$1
  shift
  code=0
  printed=$("$here/$script" "$@" 2>&1) || code=$?
  said=$(cat "$scratch/said" 2>/dev/null)
}
gave() { [[ $said == *"$1"* ]] || fail "$2: it did not give $1 but $said ($printed)"; }
gave_not() { [[ $said != *"$1"* ]] || fail "$2: it gave $1: $said"; }
wrote() { [[ -e $1 ]] || fail "there is no $1 but $(echo ./*-rep)"; }
refused() { # words of the one sentence, then the script and its words
  local words=$1
  shift
  run "$@"
  [[ $code -eq 2 && $printed == *"$words"* && $(wc -l <<<"$printed") -eq 1 ]] || fail "$*: exit code $code, $printed"
  [[ -z $said ]] || fail "$*: it ran $said"
}

nsys_of_one_process() {
  run capture_nsys.sh -o one -- shardmark run smoke --ranks 2
  ((code == 0)) || fail "nsys: exit code $code: $printed"
  gave '[nsys][profile][--output=one][--trace=cuda,nvtx,osrt][--nvtx-domain-include=shardmark,NCCL]' nsys
  gave '[--capture-range=cudaProfilerApi][--capture-range-end=stop][shardmark][run][smoke][--ranks][2]' nsys
  gave '[shardmark][run][smoke][--ranks][2]' nsys
  gave_not '[mpirun]' nsys
  wrote one.nsys-rep
  run capture_nsys.sh -c 3 -o many -- shardmark run smoke
  gave '[--capture-range-end=repeat:3][shardmark]' "nsys -c"
  ((code == 0)) || fail "nsys -c: exit code $code: $printed"
  run capture_nsys.sh -a -- shardmark run smoke
  gave '[--output=shardmark]' "nsys -a"
  gave_not capture-range "nsys -a"
  gave_not --cuda-event-trace "an nsys that does not know it"
  FAKE_HELP=$'\t--cuda-event-trace=\n' run capture_nsys.sh -- shardmark run smoke
  gave '[--cuda-event-trace=false][--capture-range=cudaProfilerApi]' "an nsys that traces events"
  ((code == 0)) || fail "nsys that traces events: exit code $code: $printed"
}

nsys_of_ranks() {
  run capture_nsys.sh -n 2 -o "a b" -- shardmark run smoke
  ((code == 0)) || fail "nsys -n: exit code $code: $printed"
  gave '[mpirun][-n][2][--bind-to][none][nsys][profile]' "nsys -n"
  gave '[profile][--output=a b.rank%q{OMPI_COMM_WORLD_RANK}][--trace=cuda,nvtx,osrt,mpi]' "nsys -n"
  wrote "a b.rank0.nsys-rep"
  wrote "a b.rank1.nsys-rep"
  OMPI_COMM_WORLD_RANK=5 run capture_nsys.sh -o r -- shardmark run smoke
  gave '[nsys][profile][--output=r.rank%q{OMPI_COMM_WORLD_RANK}][--trace=cuda,nvtx,osrt,mpi]' "a rank of mpirun"
  wrote r.rank5.nsys-rep
  SLURM_STEP_ID=0 SLURM_PROCID=7 run capture_nsys.sh -o s -- shardmark run smoke
  gave '[--output=s.rank%q{SLURM_PROCID}]' "a rank of srun"
  wrote s.rank7.nsys-rep
  SLURM_STEP_ID=0 SLURM_PROCID=8 again capture_nsys.sh -o s -- shardmark run smoke
  ((code == 0)) || fail "another rank's report is in the way: $printed"
}

ncu_of_a_phase() {
  run capture_ncu.sh -o k -r "forward block 0" -k 4 -s full -- shardmark run smoke
  ((code == 0)) || fail "ncu: exit code $code: $printed"
  gave '[ncu][--export][k][--target-processes][all][--profile-from-start][off][--set][full][--launch-count][4]' ncu
  gave '[--clock-control][none][--kernel-name][regex:^(?!nccl).*$][--nvtx][--nvtx-include]' ncu
  gave '[--nvtx-include][shardmark@forward block 0/][shardmark][run]' ncu
  wrote k.ncu-rep
  run capture_ncu.sh -r "regex:update .*" -- shardmark run smoke
  gave '[--nvtx-include][regex:shardmark@update .*/]' "ncu, many ranges"
  run capture_ncu.sh -n 2 -- shardmark run smoke
  gave '[mpirun][-n][2][--bind-to][none][ncu][--export][shardmark.rank%q{OMPI_COMM_WORLD_RANK}]' "ncu -n"
  gave_not nvtx-include "ncu without a range"
}

what_ends_badly() {
  FAKE_CODE=1 run capture_nsys.sh -- shardmark run smoke
  ((code == 1)) || fail "a failed cell gave exit code $code"
  FAKE_NO_REPORT=1 run capture_nsys.sh -- shardmark run smoke
  [[ $code -eq 1 && $printed == *"nsys wrote no report: nobody called cudaProfilerStart"* ]] ||
    fail "no report: exit code $code, $printed"
  run capture_nsys.sh -o twice -- shardmark run smoke
  again capture_nsys.sh -o twice -- shardmark run smoke
  [[ $code -eq 2 && $printed == *"twice.nsys-rep is there already"* ]] || fail "twice: exit code $code, $printed"
}

what_is_refused() {
  refused "nothing to run" capture_nsys.sh -o x
  refused "there is no ./shardmark to run" capture_nsys.sh -- ./shardmark
  refused "-x: unknown" capture_nsys.sh -x -- shardmark
  refused "-o needs a value" capture_ncu.sh -o
  refused "-n 0: must be a whole number" capture_nsys.sh -n 0 -- shardmark
  refused "-a and -c 2" capture_nsys.sh -a -c 2 -- shardmark
  refused "-s most: may be basic, detailed or full" capture_ncu.sh -s most -- shardmark
  OMPI_COMM_WORLD_RANK=0 refused "this is a rank of mpirun already" capture_nsys.sh -n 2 -- shardmark
  local tools
  tools=$(dirname "$(command -v head)")
  mkdir "$scratch/few"
  ln -s "$tools"/{bash,cat,dirname,env,head} "$scratch/few"
  local missing
  missing=$(PATH=$scratch/few "$here/capture_nsys.sh" -- cat 2>&1)
  [[ $? -eq 2 && $missing == *"there is no nsys on this machine: install Nsight Systems"* ]] || fail "no nsys: $missing"
  missing=$(PATH=$scratch/few "$here/capture_ncu.sh" -- cat 2>&1)
  [[ $? -eq 2 && $missing == *"there is no ncu on this machine: install Nsight Compute"* ]] || fail "no ncu: $missing"
}

make_fakes
nsys_of_one_process
nsys_of_ranks
ncu_of_a_phase
what_ends_badly
what_is_refused
((failures == 0)) || exit 1
echo "all well"
