# How do Debian's parts of Vega become one script? Writes OUTPUT from the modules in VEGA that the figures need; an empty file
# where there is no Vega. Run by the build: cmake -DVEGA=folder -DOUTPUT=file -P bundle.cmake
set(modules util time format loader statistics dataflow canvas scale scenegraph expression selection functions
  event-selector runtime view parser transforms view-transforms encode)
if(NOT EXISTS ${VEGA}/vega-view.min.js)
  file(WRITE ${OUTPUT} "")
  return()
endif()
file(READ ${CMAKE_CURRENT_LIST_DIR}/head.js text)
foreach(module ${modules})
  if(NOT EXISTS ${VEGA}/vega-${module}.min.js)
    message(FATAL_ERROR "${VEGA} lacks vega-${module}.min.js: it is no folder of Vega 5's modules (libjs-vega)")
  endif()
  file(READ ${VEGA}/vega-${module}.min.js body)
  string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" body "${body}")
  string(APPEND text "parts['vega-${module}'] = function (exports, module, require) {\n${body}\n};\n")
endforeach()
file(READ ${CMAKE_CURRENT_LIST_DIR}/foot.js foot)
file(WRITE ${OUTPUT} "${text}${foot}")
