/* SPDX-License-Identifier: MIT
 *
 * emulated_device.cpp: the state of the emulated device, which tests set; in the plug-in
 * that runs over the emulation it comes from $EMULATED_CUDA. */
#include "cuda/device.cuh"

emulation::device emulation::state;

static long setting(const char *name, long standard) {
    const char *all = getenv("EMULATED_CUDA");
    const char *at = all == NULL ? NULL : strstr(all, name);
    return at == NULL ? standard : atol(at + strlen(name));
}

__attribute__((constructor)) static void read_settings(void) {
    emulation::device &d = emulation::state;
    d.driver = (int)setting("driver=", d.driver);
    d.devices = (int)setting("devices=", d.devices);
    d.major = (int)setting("major=", d.major);
    d.available = (size_t)setting("available=", (long)d.available);
    d.allocations = setting("allocations=", -1);
    d.syncs = setting("syncs=", -1);
}
