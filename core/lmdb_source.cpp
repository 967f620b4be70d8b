#include "core/lmdb_source.h"

#include <unistd.h>

#if __has_include(<lmdb.h>)
#include <lmdb.h>
#endif

#include <cstdio>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {

bool is_lmdb_folder(const std::string& path) { return path_exists(join_path(path, "data.mdb")); }

#if __has_include(<lmdb.h>)

namespace {

Error database_error(int code, const std::string& action) {
  return Error{ErrorKind::invalid, action + ": " + ::mdb_strerror(code)};
}

std::string key_of(const char* what, int number) {
  char key[32];
  std::snprintf(key, sizeof key, "%s-%09d", what, number);
  return key;
}

}  // namespace

// One read-only snapshot, used by the process that opened it.
struct LmdbSource::Environment {
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
  int pid = 0;

  ~Environment() {
    // LMDB lets a child neither use nor close what its parent opened.
    if (environment == nullptr || pid != ::getpid()) return;
    if (transaction != nullptr) ::mdb_txn_abort(transaction);
    ::mdb_env_close(environment);
  }

  Status open(const std::string& path) {
    pid = ::getpid();
    int code = ::mdb_env_create(&environment);
    if (code == 0) {
      code = ::mdb_env_open(environment, path.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD, 0);
    }
    if (code == 0) code = ::mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction);
    if (code == 0) code = ::mdb_dbi_open(transaction, nullptr, 0, &database);
    return code == 0 ? Status() : Status(database_error(code, "open LMDB " + path));
  }

  Result<std::string> get(const std::string& key) const {
    MDB_val name = {key.size(), const_cast<char*>(key.data())};
    MDB_val value = {};
    const int code = ::mdb_get(transaction, database, &name, &value);
    if (code != 0) return database_error(code, "LMDB key " + key);
    return std::string(static_cast<const char*>(value.mv_data), value.mv_size);
  }
};

Status LmdbSource::read_labels(const std::string& alphabet_text) {
  const auto count_text = environment_->get("num-samples");
  if (!count_text) return count_text.error();
  const auto count = parse_integer(*count_text);
  if (!count || *count < 0 || *count > 999'999'999) {
    return Error{ErrorKind::invalid, path_ + ": num-samples is '" + valid_utf8(*count_text) + "'"};
  }
  std::vector<std::pair<int, std::string>> texts;
  std::set<std::string> characters;
  for (int number = 1; number <= *count; ++number) {
    auto text = environment_->get(key_of("label", number));
    if (!text || text->empty()) {
      unusable_.add(path_ + ":" + std::to_string(number) + (text ? ": no text" : ": no label"));
      continue;
    }
    const auto split = split_characters(*text);
    if (split && alphabet_text.empty()) characters.insert(split->begin(), split->end());
    texts.emplace_back(number, std::move(*text));
  }
  std::string all = alphabet_text;
  for (const std::string& character : characters) all += character;
  if (all.empty()) return Status();  // nothing usable: the caller sees an empty source
  auto alphabet = Alphabet::from_text(all);
  if (!alphabet) return alphabet.error();
  alphabet_ = std::move(alphabet).value();
  for (const auto& [number, text] : texts) {
    auto classes = alphabet_.encode(text);
    if (classes) {
      lines_.push_back({number, std::move(classes).value()});
    } else {
      unusable_.add(path_ + ":" + std::to_string(number) + ": " + classes.error().what);
    }
  }
  return Status();
}

Result<std::unique_ptr<LmdbSource>> LmdbSource::open(const std::string& path,
                                                     const std::string& alphabet_text) {
  if (!is_lmdb_folder(path)) return Error{ErrorKind::missing, path + " has no data.mdb"};
  std::unique_ptr<LmdbSource> source(new LmdbSource);
  source->path_ = path;
  source->environment_ = std::make_unique<Environment>();
  if (Status opened = source->environment_->open(path); !opened) return opened.error();
  if (Status read = source->read_labels(alphabet_text); !read) return read.error();
  return source;
}

Result<std::string> LmdbSource::image_bytes(std::int64_t line) const {
  if (environment_->pid != ::getpid()) {
    auto own = std::make_unique<Environment>();
    if (Status opened = own->open(path_); !opened) return opened.error();
    environment_ = std::move(own);
  }
  return environment_->get(key_of("image", lines_[static_cast<std::size_t>(line)].number));
}

#else

struct LmdbSource::Environment {};

Result<std::unique_ptr<LmdbSource>> LmdbSource::open(const std::string& path, const std::string&) {
  return Error{ErrorKind::unsupported,
               path + ": this build reads no LMDB; install liblmdb-dev and build again"};
}

Result<std::string> LmdbSource::image_bytes(std::int64_t) const {
  return Error{ErrorKind::unsupported, "this build reads no LMDB"};
}

#endif

LmdbSource::LmdbSource() = default;
LmdbSource::~LmdbSource() = default;

std::span<const int> LmdbSource::label(std::int64_t line) const {
  return lines_[static_cast<std::size_t>(line)].classes;
}

std::string LmdbSource::name(std::int64_t line) const {
  return path_ + ":" + std::to_string(lines_[static_cast<std::size_t>(line)].number);
}

}  // namespace ocrtune
