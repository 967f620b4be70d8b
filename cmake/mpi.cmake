# Ranks that mpirun starts (core/comm/mpi_comm.h). Without MPI the program is whole but for them; it is a
# library of its own, so that ocrtune itself never loads libmpi.
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "MPI part: left out (no MPI for C++; libopenmpi-dev and openmpi-bin bring it)")
  return()
endif()
add_library(ocrtune_mpi STATIC core/comm/mpi_comm.cpp)
target_compile_definitions(ocrtune_mpi PRIVATE OMPI_SKIP_MPICXX)
target_link_libraries(ocrtune_mpi PUBLIC ocrtune_core PRIVATE MPI::MPI_CXX)
add_executable(ocrtune-mpi-worker engine/mpi_worker_main.cpp)
target_link_libraries(ocrtune-mpi-worker PRIVATE ocrtune_engine ocrtune_mpi)
# Asked for by name (cmake --install FOLDER --component mpi): a package with it would need MPI.
install(TARGETS ocrtune-mpi-worker RUNTIME COMPONENT mpi EXCLUDE_FROM_ALL)
