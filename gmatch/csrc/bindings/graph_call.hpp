// graph_call.hpp: a call that matches a graph, from arrays of NumPy.
#pragma once
#include <cstdint>

#include "bindings/module.hpp"
#include "cardinality/csr_edges.cuh"
#include "cardinality/match.cuh"

template <class Offset, class Column>
struct GraphCall : Call<Task> {
  const CsrEdges<Offset, Column> edges;

  GraphCall(const Array<const Offset>& offsets, const Array<const Column>& columns, int num_columns,
            const Array<Vertex>& row_match, const Array<Vertex>& col_match, const Array<std::uint8_t>& reached,
            const Array<Vertex>& levels, const Array<Vertex>& augmentations, int start)
      : Call<Task>({{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, row_match.data(), col_match.data()},
                    reached.data(),
                    {levels.data(), augmentations.data()},
                    nullptr,
                    nullptr,
                    nullptr,
                    static_cast<Start>(start),
                    false}),
        edges{task.matching.num_rows, num_columns, offsets.data(), columns.data()} {}
};
