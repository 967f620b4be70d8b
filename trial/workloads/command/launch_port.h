// {port} of what is started for good; a trial takes one that is free.
#pragma once

namespace ocrtune {

inline constexpr int kLaunchPort = 29500;

}  // namespace ocrtune
