// Are the images of a label file there? Asked before anything is measured or learned.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

// Errors: missing if more images are not there than a run puts up with, invalid if none of those
// that were opened is an image. A few missing ones are one line on stderr. Nothing is asked of an
// LMDB, which holds its images.
Status check_label_images(const std::string& path);

}  // namespace ocrtune
