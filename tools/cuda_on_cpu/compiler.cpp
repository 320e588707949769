// Stands for NVRTC: a kernel's source becomes a library of the host, and its path what is loaded as a module.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Program {
  std::string source, log, module;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

// The folder that this library lies in.
std::string folder() {
  Dl_info found;
  dladdr((void*)&folder, &found);
  std::string path = found.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string for_host(const std::string& source) {
  static const std::regex shared(
      "extern\\s+__shared__\\s+(?:__align__\\(\\d+\\)\\s+)?([A-Za-z_][A-Za-z0-9_ ]*?)\\s+(\\w+)\\s*\\[\\s*\\]\\s*;");
  static const std::regex kernel(
      "__global__\\s+(?:__launch_bounds__\\([^)]*\\)\\s+)?void\\s+(?:__launch_bounds__\\([^)]*\\)\\s+)?(\\w+)\\s*\\(");
  std::string text = std::regex_replace(source, shared, "$1* $2 = ($1*)emulated::dynamic_shared;");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), kernel), end; found != end; ++found)
    names.insert((*found)[1]);
  text = "#include \"kernel.h\"\n#line 1 \"kernels.cu\"\n" + text + "\n";
  for (const std::string& name : names)
    text += "static void emulated_body_" + name + "(void** given) { emulated::call(&" + name + ", given); }\n" +
            "extern \"C\" __attribute__((visibility(\"default\"))) int emulated_launch_" + name +
            "(void** given, const unsigned* grid, const unsigned* threads, unsigned shared) {\n  return "
            "emulated::launch(\"" + name + "\", &emulated_body_" + name + ", given, grid, threads, shared);\n}\n";
  return text;
}

std::string defined(int count, const char* const* options) {
  std::string flags;
  for (int number = 0; number < count; number++) {
    std::string option = options[number];
    if (option.rfind("--define-macro=", 0) == 0) option = "-D" + option.substr(15);
    if (option.rfind("-D", 0) == 0) flags += " '" + option + "'";
  }
  return flags;
}

int give(const std::string& text, size_t* size, char* to) {
  if (size) *size = text.size() + 1;
  if (to) strcpy(to, text.c_str());
  return 0;
}

}  // namespace

API int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

API const char* nvrtcGetErrorString(int code) { return code ? "the emulated compiler failed" : "success"; }

API int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                           const char* const*) {
  *program = new Program{source, "", ""};
  return 0;
}

API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

API int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  std::string text = for_host(program->source), flags = defined(count, options), here = folder();
  size_t hash = std::hash<std::string>{}(text + flags + text_of(here + "/kernel.h"));
  std::string base = here + "/kernels-" + std::to_string(hash), library = base + ".so";
  int lock = open((base + ".lock").c_str(), O_CREAT | O_RDWR, 0644);
  flock(lock, LOCK_EX);
  int failed = 0;
  if (access(library.c_str(), R_OK) != 0) {
    std::ofstream(base + ".cpp") << text;
    std::string command = "g++ -std=c++17 -O2 -march=native -ffp-contract=fast -w -fPIC -shared -fvisibility=hidden "
                          "-I'" + here + "'" + flags + " '" + base + ".cpp' -o '" + library + ".new' > '" + base +
                          ".log' 2>&1";
    failed = system(command.c_str()) != 0;
    program->log = text_of(base + ".log");
    if (failed) fprintf(stderr, "%s\n", program->log.c_str());
    else failed = rename((library + ".new").c_str(), library.c_str()) != 0;
  }
  close(lock);
  program->module = "EMULATED:" + library;
  return failed ? 6 : 0;
}

API int nvrtcGetPTXSize(Program* program, size_t* size) { return give(program->module, size, nullptr); }
API int nvrtcGetPTX(Program* program, char* to) { return give(program->module, nullptr, to); }
API int nvrtcGetCUBINSize(Program* program, size_t* size) { return give(program->module, size, nullptr); }
API int nvrtcGetCUBIN(Program* program, char* to) { return give(program->module, nullptr, to); }
API int nvrtcGetProgramLogSize(Program* program, size_t* size) { return give(program->log, size, nullptr); }
API int nvrtcGetProgramLog(Program* program, char* to) { return give(program->log, nullptr, to); }
