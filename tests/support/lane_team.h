// A group of lanes as fibers of one thread, which take turns: a lane runs until it meets the others
// and then the next one does. Work that forgets to meet reads what is not there yet, in one of the
// two orders, and does so every time.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace ocrtune {

class LaneTeam {
 public:
  struct Lane {
    LaneTeam* team;
    int me;
    int index() const { return me; }
    int count() const { return team->count(); }
    void sync() const { team->meet(me); }
    double sum(double value) const {
      team->slots_[static_cast<std::size_t>(me)] = value;
      team->meet(me);
      double total = 0;
      for (const double slot : team->slots_) total += slot;
      team->meet(me);
      return total;
    }
    double sum_of_column(double value, int width) const {
      team->slots_[static_cast<std::size_t>(me)] = value;
      team->meet(me);
      double total = 0;
      for (int lane = me % width; lane < count(); lane += width) {
        total += team->slots_[static_cast<std::size_t>(lane)];
      }
      team->meet(me);
      return total;
    }
    float reduce_max(float value) const {
      team->slots_[static_cast<std::size_t>(me)] = static_cast<double>(value);
      team->meet(me);
      double largest = team->slots_[0];
      for (const double slot : team->slots_) largest = slot > largest ? slot : largest;
      team->meet(me);
      return static_cast<float>(largest);
    }
  };

  LaneTeam(int lanes, bool backwards)
      : backwards_(backwards),
        slots_(static_cast<std::size_t>(lanes)),
        stacks_(static_cast<std::size_t>(lanes), std::vector<std::byte>(kStackBytes)),
        places_(static_cast<std::size_t>(lanes)) {}

  // False: some lanes met and others did not, which on a GPU is undefined.
  template <typename Work>
  bool run(const Work& work, std::size_t row) {
    body_ = [&work, row](Lane& lane) { work(lane, row); };
    const std::size_t lanes = places_.size();
    done_.assign(lanes, false);
    for (std::size_t i = 0; i < lanes; ++i) {
      ::getcontext(&places_[i]);
      places_[i].uc_stack.ss_sp = stacks_[i].data();
      places_[i].uc_stack.ss_size = kStackBytes;
      places_[i].uc_link = &home_;
      current() = this;
      ::makecontext(&places_[i], reinterpret_cast<void (*)()>(&LaneTeam::enter), 1,
                    static_cast<int>(i));
    }
    while (true) {
      std::size_t ended = 0;
      for (std::size_t turn = 0; turn < lanes; ++turn) {
        const std::size_t i = backwards_ ? lanes - 1 - turn : turn;
        current() = this;
        if (!done_[i]) ::swapcontext(&home_, &places_[i]);
        if (done_[i]) ++ended;
      }
      if (ended == lanes) return true;
      if (ended != 0) return false;
    }
  }

  int count() const { return static_cast<int>(places_.size()); }

 private:
  static constexpr std::size_t kStackBytes = 64 << 10;

  static LaneTeam*& current() {
    thread_local LaneTeam* team = nullptr;
    return team;
  }
  static void enter(int me) {
    LaneTeam* team = current();
    Lane lane{team, me};
    team->body_(lane);
    team->done_[static_cast<std::size_t>(me)] = true;
  }
  void meet(int me) { ::swapcontext(&places_[static_cast<std::size_t>(me)], &home_); }

  bool backwards_;
  std::vector<double> slots_;
  std::vector<std::vector<std::byte>> stacks_;
  std::vector<ucontext_t> places_;
  std::vector<bool> done_;
  std::function<void(Lane&)> body_;
  ucontext_t home_{};
};

}  // namespace ocrtune
