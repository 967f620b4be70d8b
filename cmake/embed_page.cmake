# Writes OUTPUT: page_part(name) for every file of PARTS.
set(rows "")
foreach(part ${PARTS})
  get_filename_component(name ${part} NAME)
  file(READ ${part} text)
  string(APPEND rows "    {\"${name}\", R\"ocrtune(${text})ocrtune\"},\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"reports/html/page_parts.h\"

namespace ocrtune {

std::string_view page_part(std::string_view name) {
  struct Part {
    std::string_view name, text;
  };
  static constexpr Part kParts[] = {
${rows}  };
  for (const Part& part : kParts) {
    if (part.name == name) return part.text;
  }
  return {};
}

}  // namespace ocrtune
")
