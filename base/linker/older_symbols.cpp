// The two functions of which the build machine's libraries (glibc 2.36, GCC 12) have a newer
// version than RHEL 9 (glibc 2.34, GCC 11), called in their older one. CMakeLists.txt leads each
// call here by the linker's --wrap.
#include <condition_variable>
#include <mutex>

#if defined(__x86_64__) && defined(__GLIBC__)

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" {

// GLIBC_2.35 differs by how it sets errno.
__asm__(".symver ocrtune_older_hypot,hypot@GLIBC_2.2.5");
double ocrtune_older_hypot(double a, double b);
double __wrap_hypot(double a, double b);
double __wrap_hypot(double a, double b) { return ocrtune_older_hypot(a, b); }

// GLIBCXX_3.4.30 differs by noexcept.
__asm__(
    ".symver ocrtune_older_wait,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
void ocrtune_older_wait(std::condition_variable* changed, std::unique_lock<std::mutex>* lock);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* changed, std::unique_lock<std::mutex>* lock);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* changed, std::unique_lock<std::mutex>* lock) {
  ocrtune_older_wait(changed, lock);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

#endif
