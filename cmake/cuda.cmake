# The optional CUDA part: ocrtune-cuda-worker, to which ocrtune-gpu-worker hands its steps. Looked
# for in OCRTUNE_CUDA_ROOT, the folder that `scripts/deps cuda` fills, CUDA_HOME and /usr/local/cuda;
# left out, and said so, where it is not found. Nothing else is linked with CUDA.
set(OCRTUNE_CUDA AUTO CACHE STRING "AUTO (where found), ON (required) or OFF")
set(OCRTUNE_CUDA_ROOT "" CACHE PATH "Folder with bin/nvcc, or a Python environment with its wheels")
set(OCRTUNE_CUDA_ARCHITECTURES 80 86 89 90 120 CACHE STRING "Compute capabilities to compile for")

set(OCRTUNE_CUDA_FOUND FALSE)
if(OCRTUNE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA part: off")
  return()
endif()

file(GLOB cuda_roots ${OCRTUNE_CUDA_ROOT} ${OCRTUNE_CUDA_ROOT}/lib/python3*/site-packages/nvidia/cu*
     ${CMAKE_SOURCE_DIR}/.cuda/lib/python3*/site-packages/nvidia/cu*)
find_program(OCRTUNE_NVCC nvcc HINTS ${cuda_roots} ENV CUDA_HOME PATHS /usr/local/cuda
             PATH_SUFFIXES bin)
if(OCRTUNE_NVCC)
  get_filename_component(nvcc_file ${OCRTUNE_NVCC} REALPATH)
  get_filename_component(cuda_root ${nvcc_file} DIRECTORY)
  get_filename_component(cuda_root ${cuda_root} DIRECTORY)
  find_library(OCRTUNE_CUDART cudart_static HINTS ${cuda_root} PATH_SUFFIXES lib lib64)
  find_path(OCRTUNE_NCCL_INCLUDE nccl.h HINTS ${cuda_root}/../nccl ${cuda_root} PATH_SUFFIXES include)
endif()
if(NOT OCRTUNE_NVCC OR NOT OCRTUNE_CUDART OR NOT OCRTUNE_NCCL_INCLUDE)
  if(OCRTUNE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "OCRTUNE_CUDA=ON, but nvcc, libcudart_static or nccl.h is missing: scripts/deps cuda installs them")
  endif()
  message(STATUS "CUDA part: left out (no nvcc, libcudart_static or nccl.h; scripts/deps cuda installs them)")
  return()
endif()
file(GLOB cuda_libraries ${cuda_root}/lib* ${cuda_root}/../cudnn/lib)
find_path(OCRTUNE_CUDNN_INCLUDE cudnn.h HINTS ${cuda_root}/../cudnn ${cuda_root} PATH_SUFFIXES include)
find_library(OCRTUNE_CUDNN NAMES libcudnn.so.9 cudnn HINTS ${cuda_libraries})
find_library(OCRTUNE_CUBLAS NAMES libcublas.so.13 libcublas.so.12 cublas HINTS ${cuda_libraries})
set(OCRTUNE_CUDA_FOUND TRUE)
message(STATUS "CUDA part: ${nvcc_file}")

set(cuda_flags -std=c++20 -O3 -I${CMAKE_SOURCE_DIR} -isystem=${OCRTUNE_NCCL_INCLUDE} -DFMT_SHARED
    -Xcompiler=-Wall,-Wextra,-Wno-restrict,-Wno-stringop-overflow -Werror=all-warnings)
foreach(arch ${OCRTUNE_CUDA_ARCHITECTURES})
  list(APPEND cuda_flags -gencode=arch=compute_${arch},code=sm_${arch})
endforeach()
list(APPEND cuda_flags -gencode=arch=compute_75,code=compute_75)  # PTX: any other GPU

# OBJECTS gets the object files of the .cu files that follow.
function(compile_cuda objects)
  foreach(source ${ARGN})
    set(object ${CMAKE_BINARY_DIR}/cuda/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${OCRTUNE_NVCC} ${cuda_flags} -MD -MF ${object}.d -c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_SOURCE_DIR}/${source}
      DEPFILE ${object}.d
      VERBATIM COMMENT "Compiling ${source} for GPUs")
    list(APPEND all ${object})
  endforeach()
  set(${objects} ${all} PARENT_SCOPE)
endfunction()

file(GLOB cuda_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/base/cuda/*.cu
     ${CMAKE_SOURCE_DIR}/probes/p2p/cuda/*.cu)
compile_cuda(cuda_objects ${cuda_sources})
get_filename_component(nccl_root ${OCRTUNE_NCCL_INCLUDE} DIRECTORY)
add_executable(ocrtune-cuda-worker trial/cuda/cuda_worker_main.cpp ${cuda_objects})
target_link_libraries(ocrtune-cuda-worker PRIVATE ocrtune_probes ${OCRTUNE_CUDART} ${CMAKE_DL_LIBS} rt)
target_compile_definitions(ocrtune-cuda-worker PRIVATE OCRTUNE_NCCL_FOLDER="${nccl_root}/lib")
add_dependencies(ocrtune-gpu-worker ocrtune-cuda-worker)

# The GPU training core needs cuBLAS and cuDNN at start, so it is a program of its own: where they
# are missing the checks of the worker above still run.
if(NOT OCRTUNE_CUDNN OR NOT OCRTUNE_CUBLAS OR NOT OCRTUNE_CUDNN_INCLUDE)
  message(STATUS "CUDA core: left out (no cuDNN or cuBLAS)")
  return()
endif()
list(APPEND cuda_flags -isystem=${OCRTUNE_CUDNN_INCLUDE} "-DOCRTUNE_NCCL_FOLDER=\"${nccl_root}/lib\"")
file(GLOB core_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/gpu/cuda/*.cu)
file(GLOB rank_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/trial/cuda/*.cu)
compile_cuda(core_objects ${core_sources} ${rank_sources})
set_source_files_properties(${core_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_executable(ocrtune-cuda-core ${core_objects} ${cuda_objects})
set_target_properties(ocrtune-cuda-core PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH_USE_LINK_PATH ON)
target_link_libraries(ocrtune-cuda-core PRIVATE ocrtune_engine ${OCRTUNE_CUBLAS}
                      ${OCRTUNE_CUDNN} ${OCRTUNE_CUDART} ${CMAKE_DL_LIBS} rt)
add_dependencies(ocrtune-gpu-worker ocrtune-cuda-core)
