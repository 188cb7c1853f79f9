// vertex.cuh: numbers of rows and columns, and counts.
#pragma once

using Vertex = int;                          // a row or a column
using Count = long long;                     // edges, and whatever may pass 2^31
constexpr Vertex NONE = -1;                  // no mate, no predecessor
constexpr Vertex LAST_VERTEX = 0x7fffffff;   // above every vertex
