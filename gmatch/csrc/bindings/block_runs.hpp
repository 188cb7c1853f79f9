// block_runs.hpp: what the passes of a rank over its block share: runs on host threads.
#pragma once
#include <string>

#include "bindings/module.hpp"
#include "bindings/type_names.hpp"

// Calls program(team, costs) on host threads while others run Python.
template <class Dual, class Program>
void run_over_block(const AnyMatrix& costs, const std::string& stored, bool maximize, nb::handle limit, int threads,
                    const Program& program) {
  with_stored<Dual>(stored, [&](auto entry) {
    const auto block = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    run_on_host(threads, [&](HostTeam& team) { program(team, block); });
  });
}
