// Labels are read when the source is opened, images when they are asked for. LMDB maps the file and
// trusts it. So every call that reads pages runs inside read_mapped(), which turns a fault into an
// error by a jump.
#include "core/data/lmdb_source.h"

#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<lmdb.h>)
#include <lmdb.h>
#endif

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {

namespace {

thread_local sigjmp_buf* t_way_out = nullptr;
// A disk error or a cut file is SIGBUS, a bad pointer SIGSEGV, a page size of 0 SIGFPE; SIGVTALRM
// is our own timer.
constexpr std::array kFaults = {SIGBUS, SIGSEGV, SIGFPE, SIGVTALRM};
// The limit is CPU time, so that a slow disk does not count. Its value is a guess.
constexpr time_t kMaxCpuSeconds = 2;
std::array<struct sigaction, kFaults.size()> g_before;

// A fault of other code: as if this handler were not there, at the same instruction once more.
void on_fault(int number) {
  if (t_way_out != nullptr) siglongjmp(*t_way_out, 1);
  if (number == SIGVTALRM) return;  // the read has just ended
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i] == number) ::sigaction(number, &g_before[i], nullptr);
  }
}

void catch_faults() {
  struct sigaction action {};
  action.sa_handler = on_fault;
  for (std::size_t i = 0; i < kFaults.size(); ++i) ::sigaction(kFaults[i], &action, &g_before[i]);
}

// SIGVTALRM for this thread when it has computed for so long.
class CpuLimit {
 public:
  CpuLimit() = default;
  ~CpuLimit() { forget(); }
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  void set(time_t seconds) {  // 0: never
    if (owner_ != ::getpid()) {
      sigevent event{};
      event.sigev_notify = SIGEV_THREAD_ID;
      event.sigev_signo = SIGVTALRM;
      event._sigev_un._tid = ::gettid();
      if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
      owner_ = ::getpid();
    }
    itimerspec due{};
    due.it_value.tv_sec = seconds;
    ::timer_settime(timer_, 0, &due, nullptr);
  }

 private:
  void forget() const {
    if (owner_ == ::getpid()) ::timer_delete(timer_);
  }

  timer_t timer_{};
  pid_t owner_ = 0;  // a forked child has none of its parent's timers
};

thread_local CpuLimit t_limit;

}  // namespace

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
  std::uint64_t file_bytes = 0;
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
      const bool whole = read_mapped([&] {
        code =
            ::mdb_env_open(environment, path.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD, 0);
      });
      if (!whole) {
        // Closing reads the same pages again.
        (void)read_mapped([&] { ::mdb_env_close(environment); });
        environment = nullptr;
        code = MDB_CORRUPTED;
      }
    }
    if (code == 0) {
      OCRTUNE_TRY(check_size(path));
      // LMDB's own assertion would end the process.
      ::mdb_env_set_assert(environment, [](MDB_env*, const char*) { leave_mapped_read(); });
      const bool whole = read_mapped([&] {
        code = ::mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction);
        if (code == 0) code = ::mdb_dbi_open(transaction, nullptr, 0, &database);
      });
      if (!whole) code = MDB_CORRUPTED;
    }
    return code == 0 ? Status() : Status(database_error(code, "open LMDB " + path));
  }

  // LMDB maps the file as long as its head says; to read beyond its end is a SIGBUS.
  Status check_size(const std::string& path) {
    MDB_envinfo facts = {};
    MDB_stat pages = {};
    mdb_filehandle_t file = -1;
    struct stat on_disk {};
    bool known = false;
    const bool whole = read_mapped([&] {
      known = ::mdb_env_info(environment, &facts) == 0 &&
              ::mdb_env_stat(environment, &pages) == 0 &&
              ::mdb_env_get_fd(environment, &file) == 0 && ::fstat(file, &on_disk) == 0;
    });
    if (!whole || !known) {
      return Error{ErrorKind::invalid, "open LMDB " + path + ": no facts about it"};
    }
    const std::uint64_t needed = (std::uint64_t{facts.me_last_pgno} + 1) * pages.ms_psize;
    const auto there = static_cast<std::uint64_t>(on_disk.st_size);
    file_bytes = there;
    if (there >= needed) return Status();
    return Error{ErrorKind::invalid, "LMDB " + path + " is cut short: " + format_bytes(there) +
                                         " of " + format_bytes(needed) + "; copy it again"};
  }

  // LMDB trusts what its pages say of each other, and a disk may give an error.
  Result<std::string> get(const std::string& key) const {
    MDB_val name = {key.size(), const_cast<char*>(key.data())};
    MDB_val value = {};
    int code = 0;
    bool whole =
        read_mapped_briefly([&] { code = ::mdb_get(transaction, database, &name, &value); });
    std::string bytes;
    // A damaged node may claim any size.
    if (whole && code == 0) whole = value.mv_size <= file_bytes;
    if (whole && code == 0) {
      bytes.resize(value.mv_size);
      whole = read_mapped_briefly([&] { std::memcpy(bytes.data(), value.mv_data, bytes.size()); });
    }
    if (!whole) code = MDB_CORRUPTED;
    if (code != 0) return database_error(code, "LMDB key " + key);
    return bytes;
  }
};

Status LmdbSource::read_texts(std::size_t folder, std::vector<Text>& texts) {
  const Environment& environment = *environments_[folder];
  const auto count_text = environment.get("num-samples");
  if (!count_text) {
    return Error{count_text.error().kind, folders_[folder] + ": " + count_text.error().what};
  }
  const auto count = parse_integer(*count_text);
  if (!count || *count < 0 || *count > 999'999'999) {
    return Error{ErrorKind::invalid,
                 folders_[folder] + ": num-samples is '" + valid_utf8(*count_text) + "'"};
  }
  constexpr std::uint64_t kMinEntryBytes = 23;  // a node's head and its key
  if (static_cast<std::uint64_t>(*count) > environment.file_bytes / kMinEntryBytes) {
    return Error{ErrorKind::invalid, folders_[folder] + ": num-samples is " + *count_text +
                                         ", more than a file of " +
                                         format_bytes(environment.file_bytes) + " holds"};
  }
  for (int number = 1; number <= *count; ++number) {
    auto text = environment.get(key_of("label", number));
    if (text && !text->empty()) {
      texts.push_back({folder, number, std::move(*text)});
    } else {
      unusable_.add(name_of(folder, number) + (text ? ": no text" : ": no label"));
    }
  }
  return Status();
}

Status LmdbSource::encode_labels(const std::vector<Text>& texts, const std::string& alphabet_text) {
  std::set<std::string> characters;
  for (const Text& text : texts) {
    const auto split = split_characters(text.text);
    if (split && alphabet_text.empty()) characters.insert(split->begin(), split->end());
  }
  std::string all = alphabet_text;
  for (const std::string& character : characters) all += character;
  if (all.empty()) return Status();  // nothing usable: the caller sees an empty source
  alphabet_ = OCRTUNE_TRY(Alphabet::from_text(all));
  for (const Text& text : texts) {
    auto classes = alphabet_.encode(text.text);
    if (classes) {
      lines_.push_back({text.folder, text.number, std::move(classes).value()});
    } else {
      unusable_.add(name_of(text.folder, text.number) + ": " + classes.error().what);
    }
  }
  return Status();
}

Result<std::unique_ptr<LmdbSource>> LmdbSource::open(const std::string& path,
                                                     const std::string& alphabet_text) {
  std::unique_ptr<LmdbSource> source(new LmdbSource);
  source->folders_ = lmdb_folders(path);
  if (source->folders_.empty()) return Error{ErrorKind::missing, path + " has no data.mdb"};
  std::vector<Text> texts;
  for (std::size_t folder = 0; folder < source->folders_.size(); ++folder) {
    source->environments_.push_back(std::make_unique<Environment>());
    Status done = source->environments_.back()->open(source->folders_[folder]);
    if (done) done = source->read_texts(folder, texts);
    if (!done) return done.error();
  }
  OCRTUNE_TRY(source->encode_labels(texts, alphabet_text));
  return source;
}

Result<std::string> LmdbSource::image_bytes(std::int64_t line) const {
  const Line& which = lines_[static_cast<std::size_t>(line)];
  auto& environment = environments_[which.folder];
  if (environment->pid != ::getpid()) {
    auto own = std::make_unique<Environment>();
    OCRTUNE_TRY(own->open(folders_[which.folder]));
    environment = std::move(own);
  }
  return environment->get(key_of("image", which.number));
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
  const Line& which = lines_[static_cast<std::size_t>(line)];
  return name_of(which.folder, which.number);
}

std::string LmdbSource::name_of(std::size_t folder, int number) const {
  return folders_[folder] + ":" + std::to_string(number);
}

bool read_mapped(const std::function<void()>& read) {
  static std::once_flag caught;
  std::call_once(caught, catch_faults);
  OCRTUNE_CHECK(t_way_out == nullptr);
  sigjmp_buf way_out;
  if (sigsetjmp(way_out, 1) != 0) {
    t_way_out = nullptr;
    return false;
  }
  t_way_out = &way_out;
  read();
  t_way_out = nullptr;
  return true;
}

bool read_mapped_briefly(const std::function<void()>& read) {
  t_limit.set(kMaxCpuSeconds);
  const bool whole = read_mapped(read);
  t_limit.set(0);
  return whole;
}

void leave_mapped_read() {
  OCRTUNE_CHECK(t_way_out != nullptr);
  siglongjmp(*t_way_out, 1);
}

}  // namespace ocrtune
