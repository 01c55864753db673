# Which sources are being built? Writes OUTPUT, a header with the commit, the flags and the kind of build, whenever one of
# them has changed, and leaves it alone otherwise, so that nothing is compiled again for it.
# Run by every build: cmake -DSOURCE=... -DOUTPUT=... -DFLAGS=... -DTYPE=... -DVERSION=... -P revision.cmake
set(commit "")
set(dirty false)
find_program(GIT git)
if(GIT)
  # Only a checkout of our own counts: a source archive unpacked inside some other repository has no commit.
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse --show-cdup HEAD
                  OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND answer MATCHES "^\n([0-9a-f]+)\n$")
    set(commit "${CMAKE_MATCH_1}")
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" --no-optional-locks status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    # A new source is built before it is tracked; notes and results beside the sources are not.
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" --no-optional-locks status --porcelain --untracked-files=all
                            -- bench impl kernels profilers
                    OUTPUT_VARIABLE added ERROR_QUIET)
    if(changes OR added)
      set(dirty true)
    endif()
  endif()
endif()

string(STRIP "${FLAGS}" FLAGS)
set(text "#pragma once
// Written by the build; see bench/revision.cmake.
namespace shardmark {
inline constexpr const char* built_commit = \"${commit}\";
inline constexpr bool built_dirty = ${dirty};
inline constexpr const char* built_with_flags = R\"(${FLAGS})\";
inline constexpr const char* built_as = \"${TYPE}\";
inline constexpr const char* built_version = \"${VERSION}\";
}  // namespace shardmark
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
