# What do capture_nsys.sh and capture_ncu.sh have in common? How they refuse, what a report is called, and how ranks start.
# Sourced by them, with $program, $tool, $suffix and usage() given.
# shellcheck shell=bash disable=SC2154 # they set what is read here

refuse() {
  echo "$program: $*" >&2
  exit 2
}

need() { # tool, what brings it
  command -v "$1" >/dev/null || refuse "there is no $1 on this machine: $2."
}

whole_number() { # flag value
  [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || refuse "$1 $2: must be a whole number from 1 on."
}

value_of() { # flag, how many words are left
  (($2 > 0)) || refuse "$1 needs a value; --help shows them."
}

# What a launcher calls the rank of a process: of the one that -n starts, or of the one that started this script.
rank_variable() {
  if [[ -n $ranks || -n ${OMPI_COMM_WORLD_RANK:-} ]]; then
    echo OMPI_COMM_WORLD_RANK
  elif [[ -n ${SLURM_STEP_ID:-} && -n ${SLURM_PROCID:-} ]]; then
    echo SLURM_PROCID
  fi
}

# One report a rank, where there are ranks that are processes; the tool fills the variable in.
report_name() {
  local rank
  rank=$(rank_variable)
  echo "$name${rank:+.rank%q{$rank\}}"
}

# The same as a pattern of files.
report_files() {
  local rank
  rank=$(rank_variable)
  if [[ -z $rank ]]; then
    echo "$name$suffix"
  else
    echo "$name.rank${!rank:-*}$suffix"
  fi
}

check_command() {
  ((${#command[@]} > 0)) || refuse "nothing to run: $program [flags] -- shardmark run ..."
  command -v "${command[0]}" >/dev/null || refuse "there is no ${command[0]} to run."
  [[ -z $ranks || -z ${OMPI_COMM_WORLD_RANK:-} ]] || refuse "-n $ranks: this is a rank of mpirun already."
  if compgen -G "$(report_files)" >/dev/null; then
    refuse "$(compgen -G "$(report_files)" | head -n 1) is there already: move it, or name another with -o."
  fi
}

# The words of the tool, then the command; its exit code. No report is a failure.
capture() {
  local launcher=() code=0
  # Bound, as few ranks are by default, all threads of a rank, NCCL's and the profiler's too, would share one core.
  [[ -z $ranks ]] || launcher=(mpirun -n "$ranks" --bind-to none)
  # Root is the usual user of a container, and Open MPI refuses it otherwise.
  if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
  "${launcher[@]}" "$@" "${command[@]}" || code=$?
  if ((code == 0)) && ! compgen -G "${report_files_written:-$(report_files)}" >/dev/null; then
    echo "$program: $tool wrote no report: $why_none." >&2
    return 1
  fi
  return "$code"
}
