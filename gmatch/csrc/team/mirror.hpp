// mirror.hpp: structs and enums that Python lays out or reads. Each says its members once, beside itself;
// bindings/mirror.hpp hands them over. A GPU's compiler sees the members and nothing else.
//
//   struct Matching {
//     ...
//     FIELDS(Matching, num_rows, num_columns, row_match, col_match)
//   };
//   MIRRORED_ENUM(Start, none, cheap, shuffled);
#pragma once

#if defined(__CUDACC__) || defined(EMULATED_GPU)

#define FIELDS(Struct, ...)
#define MIRRORED_ENUM(Enum, ...) enum class Enum { __VA_ARGS__ }

#else

#include <array>
#include <cstddef>
#include <type_traits>

namespace mirror {

struct Field {
  const char* name;
  char code;  // of each of its numbers, in the letters of Python's struct
  std::size_t offset, size, alignment;
};

template <class T>
constexpr char code_of() {
  if constexpr (std::is_enum_v<T>) return code_of<std::underlying_type_t<T>>();
  else if constexpr (std::is_pointer_v<T>) return 'P';
  else if constexpr (std::is_same_v<T, bool>) return '?';
  else if constexpr (std::is_same_v<T, unsigned char>) return 'B';
  else if constexpr (std::is_same_v<T, int>) return 'i';
  else if constexpr (std::is_same_v<T, long long>) return 'q';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else static_assert(!std::is_same_v<T, T>, "a type that Python's struct has a letter for");
}

template <class T, class = void>
struct HasFields : std::false_type {};
template <class T>
struct HasFields<T, std::void_t<decltype(T::fields())>> : std::true_type {};

// The fields of a member. A member that is a struct gives its own fields.
template <class T>
constexpr auto fields_of([[maybe_unused]] const char* name, std::size_t offset) {
  if constexpr (HasFields<T>::value) {
    auto fields = T::fields();
    for (Field& field : fields) field.offset += offset;
    return fields;
  } else {
    return std::array<Field, 1>{{{name, code_of<std::remove_all_extents_t<T>>(), offset, sizeof(T), alignof(T)}}};
  }
}

template <std::size_t... SIZES>
constexpr auto joined(const std::array<Field, SIZES>&... parts) {
  std::array<Field, (SIZES + ...)> all{};
  std::size_t end = 0;
  const auto append = [&](const auto& part) {
    for (const Field& field : part) all[end++] = field;
  };
  (append(parts), ...);
  return all;
}

constexpr std::size_t aligned(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// Whether each byte belongs to a field, or is the padding that a compiler adds.
template <class Struct>
constexpr bool covers() {
  std::size_t end = 0;
  for (const Field& field : Struct::fields()) {
    if (field.offset != aligned(end, field.alignment)) return false;
    end = field.offset + field.size;
  }
  return aligned(end, alignof(Struct)) == sizeof(Struct);
}

template <class Struct, class Other>
constexpr bool are_alike() {
  const auto fields = Struct::fields();
  const auto others = Other::fields();
  if (sizeof(Struct) != sizeof(Other) || fields.size() != others.size()) return false;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    if (fields[k].code != others[k].code || fields[k].offset != others[k].offset) return false;
  }
  return true;
}

}  // namespace mirror

// The names are bound to all members, so a list that lacks one does not compile.
#define FIELDS(Struct, ...)                                                            \
  static constexpr auto fields() {                                                     \
    using Self = Struct;                                                               \
    [](const Self& all) { [[maybe_unused]] const auto& [__VA_ARGS__] = all; };         \
    return mirror::joined(EACH(FIELD, __VA_ARGS__));                                   \
  }
#define FIELD(name) mirror::fields_of<decltype(Self::name)>(#name, offsetof(Self, name))

#define MIRRORED_ENUM(Enum, ...)                                      \
  enum class Enum;                                                    \
  constexpr const char* names_of(Enum) { return #__VA_ARGS__; }       \
  enum class Enum { __VA_ARGS__ }

// EACH(f, a, b, ...) is f(a), f(b), ...
#define EACH(f, ...)                                                                                               \
  NUMBER_20(__VA_ARGS__, EACH_20, EACH_19, EACH_18, EACH_17, EACH_16, EACH_15, EACH_14, EACH_13, EACH_12, EACH_11, \
            EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1)(f, __VA_ARGS__)
#define NUMBER_20(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, it, ...) it
#define EACH_1(f, a) f(a)
#define EACH_2(f, a, ...) f(a), EACH_1(f, __VA_ARGS__)
#define EACH_3(f, a, ...) f(a), EACH_2(f, __VA_ARGS__)
#define EACH_4(f, a, ...) f(a), EACH_3(f, __VA_ARGS__)
#define EACH_5(f, a, ...) f(a), EACH_4(f, __VA_ARGS__)
#define EACH_6(f, a, ...) f(a), EACH_5(f, __VA_ARGS__)
#define EACH_7(f, a, ...) f(a), EACH_6(f, __VA_ARGS__)
#define EACH_8(f, a, ...) f(a), EACH_7(f, __VA_ARGS__)
#define EACH_9(f, a, ...) f(a), EACH_8(f, __VA_ARGS__)
#define EACH_10(f, a, ...) f(a), EACH_9(f, __VA_ARGS__)
#define EACH_11(f, a, ...) f(a), EACH_10(f, __VA_ARGS__)
#define EACH_12(f, a, ...) f(a), EACH_11(f, __VA_ARGS__)
#define EACH_13(f, a, ...) f(a), EACH_12(f, __VA_ARGS__)
#define EACH_14(f, a, ...) f(a), EACH_13(f, __VA_ARGS__)
#define EACH_15(f, a, ...) f(a), EACH_14(f, __VA_ARGS__)
#define EACH_16(f, a, ...) f(a), EACH_15(f, __VA_ARGS__)
#define EACH_17(f, a, ...) f(a), EACH_16(f, __VA_ARGS__)
#define EACH_18(f, a, ...) f(a), EACH_17(f, __VA_ARGS__)
#define EACH_19(f, a, ...) f(a), EACH_18(f, __VA_ARGS__)
#define EACH_20(f, a, ...) f(a), EACH_19(f, __VA_ARGS__)

#endif
