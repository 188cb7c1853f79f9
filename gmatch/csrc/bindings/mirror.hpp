// mirror.hpp: hands structs, enums and arrays one after another to Python: `_native.STRUCTS`, ENUMS and ARRAYS.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "team/mirror.hpp"
#include "team/team.cuh"

namespace mirror {

// The dictionary of this name; the first call makes it.
inline nanobind::dict table(nanobind::module_& m, const char* name) {
  if (!nanobind::hasattr(m, name)) m.attr(name) = nanobind::dict();
  return nanobind::cast<nanobind::dict>(m.attr(name));
}

// For each field its name, its code, its offset and its size. The code of an array begins with how many numbers it has.
// Others that programs are called with must lie alike.
template <class Struct, class... Others>
void add_struct(nanobind::module_& m, const char* name) {
  static_assert(covers<Struct>(), "each byte belongs to a field, or is padding");
  static_assert((are_alike<Struct, Others>() && ...), "Python lays out one struct for all of them");
  nanobind::list fields;
  for (const Field& field : Struct::fields()) {
    const std::size_t numbers = field.size / field.alignment;
    const std::string code = (numbers > 1 ? std::to_string(numbers) : "") + field.code;
    fields.append(nanobind::make_tuple(field.name, nanobind::str(code.c_str()), field.offset, field.size));
  }
  table(m, "STRUCTS")[name] = nanobind::tuple(fields);
}

// The name and the number of each member.
template <class Enum>
void add_enum(nanobind::module_& m, const char* name) {
  const std::string names = names_of(Enum{});
  nanobind::list members;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(", ", begin), names.size());
    members.append(nanobind::make_tuple(nanobind::str(names.data() + begin, end - begin), members.size()));
    begin = end + 2;
  }
  table(m, "ENUMS")[name] = nanobind::tuple(members);
}

// Arrays one after another in one piece of memory. Arrays::each(pairs, rows, columns, visit) calls
// visit(name, member, length) for each in its order. The member is a pointer to where the array begins. There are as many
// pairs as rows or columns, whichever are fewer.
template <class Arrays, class Member>
using EntryOf =
    std::remove_pointer_t<std::remove_reference_t<decltype(std::declval<Arrays&>().*std::declval<Member>())>>;

// Lets the members point to their arrays, which lie from `memory` on.
template <class Arrays>
void lay_out(Arrays& arrays, void* memory, Count rows, Count columns) {
  char* next = static_cast<char*>(memory);
  Arrays::each(std::min(rows, columns), rows, columns, [&](const char*, auto member, Count length) {
    using Entry = EntryOf<Arrays, decltype(member)>;
    arrays.*member = reinterpret_cast<Entry*>(next);
    next += length * static_cast<Count>(sizeof(Entry));
  });
}

// How many bytes they take.
template <class Arrays>
Count bytes(Count rows, Count columns) {
  Count bytes = 0;
  Arrays::each(std::min(rows, columns), rows, columns, [&](const char*, auto member, Count length) {
    bytes += length * static_cast<Count>(sizeof(EntryOf<Arrays, decltype(member)>));
  });
  return bytes;
}

// How many entries an array has, or where it begins: fixed ones, and more for each pair, row and column.
struct Extent {
  Count of[4];

  nanobind::tuple tuple() const { return nanobind::make_tuple(of[0], of[1], of[2], of[3]); }
};

// For each array its name, the code of its entries, the byte where it begins, and how many entries it has; then how
// many bytes all have.
template <class Arrays>
void add_arrays(nanobind::module_& m, const char* name) {
  constexpr Count SIDES[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  nanobind::list arrays;
  Extent begin{};
  const auto add = [&](const char* array, auto member, Extent length) {
    using Entry = EntryOf<Arrays, decltype(member)>;
    const char code[] = {code_of<Entry>(), 0};
    arrays.append(nanobind::make_tuple(array, code, begin.tuple(), length.tuple()));
    for (int k = 0; k < 4; ++k) begin.of[k] += static_cast<Count>(sizeof(Entry)) * length.of[k];
  };
  std::vector<Extent> lengths;
  for (int k = 0; k < 4; ++k) {
    std::size_t at = 0;
    Arrays::each(SIDES[k][0], SIDES[k][1], SIDES[k][2], [&](const char*, auto, Count length) {
      if (k == 0) lengths.push_back({{length, 0, 0, 0}});
      else lengths[at].of[k] = length - lengths[at].of[0];
      ++at;
    });
  }
  std::size_t at = 0;
  Arrays::each(0, 0, 0, [&](const char* array, auto member, Count) { add(array, member, lengths[at++]); });
  table(m, "ARRAYS")[name] = nanobind::make_tuple(nanobind::tuple(arrays), begin.tuple());
}

}  // namespace mirror
