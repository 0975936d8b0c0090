#include "model/explorer.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace lapwing::model {

namespace {

constexpr int kMaxThreads = 3;
constexpr int kMaxLocations = 96;
constexpr int kMaxStores = 48;    // a location and execution
constexpr std::size_t kMaxSteps = 600;
constexpr std::size_t kStackBytes = 128 * 1024;

uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

bool acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_acquire &&
           order != std::memory_order_consume;
}

// What a thread is known to have seen: the newest store of each location, and how far every thread had come.
struct View {
    std::array<uint8_t, kMaxLocations> seen{};
    std::array<uint32_t, kMaxThreads> clock{};
    void join(const View& other) {
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
        for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
    }
};

struct Store {
    uint64_t value = 0;
    bool carries_view = false;
    View view;
};

struct Location {
    const void* at = nullptr;
    int stores = 0;
    uint64_t order_hash = 0;    // who wrote, in which order
    std::array<Store, kMaxStores> store;
};

struct PlainField {
    const void* at = nullptr;
    int writer = -1;
    uint32_t write_clock = 0;
    std::array<uint32_t, kMaxThreads> read_clock{};
};

struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
    bool done = false;
    View view;
    uint64_t history = 0;
    uint32_t operations = 0;
};

// 64-bit keys in a table that is one block of memory: nothing here may allocate while an execution runs, or else the
// scenario's objects would get other addresses in the next one, and states would not be recognised.
class KeySet {
public:
    KeySet() : cells_(1u << 20) {}
    bool insert(uint64_t key) {
        if (key == 0) key = 1;
        if (2 * (size_ + 1) > cells_.size()) grow();
        return put(key);
    }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    bool put(uint64_t key) {
        for (std::size_t i = key & (cells_.size() - 1);; i = (i + 1) & (cells_.size() - 1)) {
            if (cells_[i] == key) return false;
            if (cells_[i] != 0) continue;
            cells_[i] = key;
            ++size_;
            return true;
        }
    }
    void grow() {
        std::vector<uint64_t> old(cells_.size() * 2);
        old.swap(cells_);
        size_ = 0;
        for (const uint64_t key : old)
            if (key != 0) put(key);
    }
    std::vector<uint64_t> cells_;
    std::size_t size_ = 0;
};

struct Choice {
    uint8_t taken;
    uint8_t count;
};

struct TraceStep {
    int thread;
    const char* what;
    const void* at;
    uint64_t value;
};

class Explorer {
public:
    Outcome explore(MakeScenario make);

    int choose(int count) {
        if (count <= 1) return 0;
        if (depth_ == path_.size()) path_.push_back({0, static_cast<uint8_t>(count)});
        return path_[depth_++].taken;
    }
    void fail(const std::string& what) {
        if (outcome_.violation.empty()) outcome_.violation = what + describe_trace();
    }
    [[nodiscard]] bool in_thread() const { return current_ >= 0; }
    [[nodiscard]] Fiber& current() { return fibers_[static_cast<std::size_t>(current_)]; }

    // Hands over to the scheduler; the operation that follows is this thread's next step.
    void pause() {
        Fiber& fiber = current();
        swapcontext(&fiber.context, &scheduler_);
        ++fiber.operations;
        ++outcome_.steps;
        ++fiber.view.clock[static_cast<std::size_t>(current_)];
    }
    void note(const char* what, const void* at, uint64_t value, uint64_t which) {
        current().history = mix(mix(current().history, reinterpret_cast<uintptr_t>(at)), which);
        trace_.push_back({current_, what, at, value});
    }
    Location& location(const void* at, uint64_t now) {
        for (int i = 0; i < locations_in_use_; ++i)
            if (locations_[static_cast<std::size_t>(i)].at == at) return locations_[static_cast<std::size_t>(i)];
        if (locations_in_use_ == kMaxLocations) std::abort();
        Location& fresh = locations_[static_cast<std::size_t>(locations_in_use_++)];
        fresh.at = at;
        fresh.stores = 1;
        fresh.order_hash = 0;
        fresh.store[0].value = now;
        fresh.store[0].carries_view = false;
        return fresh;
    }
    uint8_t& seen(const Location& of) { return current().view.seen[static_cast<std::size_t>(&of - locations_.data())]; }
    void take_view(const Store& from, std::memory_order order) {
        if (acquires(order) && from.carries_view) current().view.join(from.view);
    }
    void append(Location& to, uint64_t value, std::memory_order order, const Store* continues) {
        if (to.stores == kMaxStores) std::abort();
        Store& added = to.store[static_cast<std::size_t>(to.stores)];
        seen(to) = static_cast<uint8_t>(to.stores++);
        added.value = value;
        added.carries_view = releases(order);
        if (added.carries_view) added.view = current().view;
        if (continues != nullptr && continues->carries_view) {    // a release sequence goes through read-modify-writes
            if (!added.carries_view) added.view = View{};
            added.view.join(continues->view);
            added.carries_view = true;
        }
        to.order_hash = mix(to.order_hash, static_cast<uint64_t>(current_) << 32 | current().operations);
        ++current().view.clock[static_cast<std::size_t>(current_)];    // what follows is not published by it
    }
    PlainField& plain(const void* at) {
        for (std::size_t i = 0; i < plains_in_use_; ++i)
            if (plains_[i].at == at) return plains_[i];
        if (plains_in_use_ == plains_.size()) std::abort();
        plains_[plains_in_use_] = {at, -1, 0, {}};
        return plains_[plains_in_use_++];
    }
    void check_write_before(const PlainField& field) {
        if (field.writer >= 0 && field.writer != current_ &&
            current().view.clock[static_cast<std::size_t>(field.writer)] < field.write_clock)
            fail("data race: a plain field is read or written while another thread's write of it is not ordered");
    }
    void check_reads_before(const PlainField& field) {
        for (int i = 0; i < kMaxThreads; ++i)
            if (i != current_ &&
                current().view.clock[static_cast<std::size_t>(i)] < field.read_clock[static_cast<std::size_t>(i)])
                fail("data race: a plain field is written while another thread's read of it is not ordered");
    }
    int current_ = -1;

private:
    void execute(Scenario& scenario);
    [[nodiscard]] uint64_t key(int threads) const;
    [[nodiscard]] std::string describe_trace() const;
    static void enter(unsigned thread);

    Outcome outcome_;
    std::vector<Choice> path_;
    std::size_t depth_ = 0;
    KeySet known_;
    std::array<Fiber, kMaxThreads> fibers_;
    ucontext_t scheduler_{};
    Scenario* scenario_ = nullptr;
    std::vector<Location> locations_ = std::vector<Location>(kMaxLocations);
    int locations_in_use_ = 0;
    std::array<PlainField, 256> plains_{};
    std::size_t plains_in_use_ = 0;
    std::vector<TraceStep> trace_;
};

Explorer* g_explorer = nullptr;

void Explorer::enter(unsigned thread) {
    g_explorer->scenario_->run(static_cast<int>(thread));
    g_explorer->fibers_[thread].done = true;
    setcontext(&g_explorer->scheduler_);
}

uint64_t Explorer::key(int threads) const {
    uint64_t sum = 0;
    for (int i = 0; i < threads; ++i) {
        const Fiber& fiber = fibers_[static_cast<std::size_t>(i)];
        sum += mix(mix(static_cast<uint64_t>(i + 1), fiber.history), fiber.done ? 1 : 2);
    }
    for (int i = 0; i < locations_in_use_; ++i) {
        const Location& at = locations_[static_cast<std::size_t>(i)];
        // One that was only read yet is no part of the state.
        if (at.stores > 1) sum += mix(reinterpret_cast<uintptr_t>(at.at), at.order_hash);
    }
    return sum;
}

std::string Explorer::describe_trace() const {
    std::string out = "\nsteps (thread, operation, location, value):";
    std::vector<const void*> names;
    for (const TraceStep& step : trace_) {
        auto name = std::find(names.begin(), names.end(), step.at);
        if (name == names.end()) name = names.insert(names.end(), step.at);
        out.append("\n  ").append(std::to_string(step.thread)).append("  ").append(step.what);
        out.append("  L").append(std::to_string(name - names.begin())).append("  ").append(std::to_string(step.value));
    }
    return out;
}

void Explorer::execute(Scenario& scenario) {
    scenario_ = &scenario;
    depth_ = 0;
    locations_in_use_ = 0;
    plains_in_use_ = 0;
    trace_.clear();
    const int threads = scenario.threads();
    for (int i = 0; i < threads; ++i) {
        Fiber& fiber = fibers_[static_cast<std::size_t>(i)];
        fiber.done = false;
        fiber.view = View{};
        fiber.history = 0;
        fiber.operations = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = kStackBytes;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Explorer::enter), 1, static_cast<unsigned>(i));
    }
    const auto resume = [this](int thread) {
        current_ = thread;
        swapcontext(&scheduler_, &fibers_[static_cast<std::size_t>(thread)].context);
        current_ = -1;
    };
    for (int i = 0; i < threads; ++i) resume(i);    // up to the first step of each
    ++outcome_.executions;
    for (std::size_t steps = 0;; ++steps) {
        std::array<int, kMaxThreads> ready{};
        int count = 0;
        for (int i = 0; i < threads; ++i)
            if (!fibers_[static_cast<std::size_t>(i)].done) ready[static_cast<std::size_t>(count++)] = i;
        scenario.check_step();
        if (!outcome_.violation.empty()) return;
        if (count == 0) break;
        if (depth_ == path_.size() && !known_.insert(key(threads))) return;
        if (steps > kMaxSteps) return fail("no end: more steps than an execution may take");
        resume(ready[static_cast<std::size_t>(choose(count))]);
    }
    ++outcome_.complete;
    scenario.check_end();
}

Outcome Explorer::explore(MakeScenario make) {
    g_explorer = this;
    path_.reserve(4 * kMaxSteps);
    trace_.reserve(4 * kMaxSteps);
    for (;;) {
        {
            const std::unique_ptr<Scenario> scenario(make());
            execute(*scenario);
        }
        if (!outcome_.violation.empty()) break;
        while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
        if (path_.empty()) break;
        ++path_.back().taken;
    }
    outcome_.states = known_.size();
    g_explorer = nullptr;
    return outcome_;
}

[[nodiscard]] bool exploring() {
    return g_explorer != nullptr && g_explorer->in_thread();
}

}    // namespace

Outcome explore(MakeScenario make) {
    return std::make_unique<Explorer>()->explore(make);
}

void fail(const std::string& what) {
    g_explorer->fail(what);
}

int choose(int count) {
    const int taken = g_explorer->choose(count);
    g_explorer->note("choose", nullptr, static_cast<uint64_t>(taken), static_cast<uint64_t>(taken));
    return taken;
}

uint64_t load(const void* at, uint64_t now, std::memory_order order) {
    if (!exploring()) return now;
    Explorer& all = *g_explorer;
    all.pause();
    Location& from = all.location(at, now);
    // Any store from the newest on that the thread is known to have seen; the newest of all first.
    const int oldest = all.seen(from);
    const int which = from.stores - 1 - all.choose(from.stores - oldest);
    all.seen(from) = static_cast<uint8_t>(which);
    const Store& read = from.store[static_cast<std::size_t>(which)];
    all.take_view(read, order);
    all.note("load", at, read.value, static_cast<uint64_t>(which));
    return read.value;
}

void store(const void* at, uint64_t now, uint64_t desired, std::memory_order order) {
    if (!exploring()) return;
    Explorer& all = *g_explorer;
    all.pause();
    all.append(all.location(at, now), desired, order, nullptr);
    all.note("store", at, desired, 0);
}

uint64_t exchange_begin(const void* at, uint64_t now, std::memory_order order) {
    if (!exploring()) return now;
    Explorer& all = *g_explorer;
    all.pause();
    Location& from = all.location(at, now);
    const Store& newest = from.store[static_cast<std::size_t>(from.stores - 1)];
    all.take_view(newest, order);
    all.note("exchange", at, newest.value, static_cast<uint64_t>(from.stores - 1));
    return newest.value;
}

void exchange_end(const void* at, uint64_t desired, std::memory_order order) {
    if (!exploring()) return;
    Explorer& all = *g_explorer;
    Location& to = all.location(at, desired);
    all.append(to, desired, order, &to.store[static_cast<std::size_t>(to.stores - 1)]);
}

void plain_read(const void* at) {
    if (!exploring()) return;
    PlainField& field = g_explorer->plain(at);
    g_explorer->check_write_before(field);
    field.read_clock[static_cast<std::size_t>(g_explorer->current_)] =
        g_explorer->current().view.clock[static_cast<std::size_t>(g_explorer->current_)];
}

void plain_write(const void* at) {
    if (!exploring()) return;
    PlainField& field = g_explorer->plain(at);
    g_explorer->check_write_before(field);
    g_explorer->check_reads_before(field);
    field.writer = g_explorer->current_;
    field.write_clock = g_explorer->current().view.clock[static_cast<std::size_t>(g_explorer->current_)];
}

}    // namespace lapwing::model
