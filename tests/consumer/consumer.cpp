// The same library from C++: handles in unique_ptr, a prediction, and an error that says what is wrong. usage: consumer
// PROFILE
#include <adept/adept.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

template <auto Free> struct Deleter {
    template <class T> void operator()(T *handle) const { Free(handle); }
};
using Workload = std::unique_ptr<adept_workload, Deleter<adept_workload_free>>;
using Gpu = std::unique_ptr<adept_gpu, Deleter<adept_gpu_free>>;
using Oracle = std::unique_ptr<adept_oracle, Deleter<adept_oracle_free>>;

static adept_error error;

static Workload load(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    adept_workload *workload = nullptr;
    adept_workload_read(&workload, path.c_str(), bytes.data(), bytes.size(), nullptr, &error);
    return Workload(workload);
}

static Gpu open_gpu(const char *name)
{
    adept_gpu *gpu = nullptr;
    adept_gpu_open(&gpu, name, &error);
    return Gpu(gpu);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    const Workload workload = load(argv[1]);
    const Gpu gpu = open_gpu("h100");
    adept_oracle *oracle = nullptr;
    if (!workload || !gpu || adept_oracle_new(&oracle, workload.get(), gpu.get(), "operator", &error) != ADEPT_OK) {
        std::cerr << "consumer: " << error.message << '\n';
        return 1;
    }
    const Oracle owner(oracle);
    adept_request request{};
    request.oracle = oracle;
    adept_estimate estimate{};
    if (adept_predict_one(&estimate, &request, &error) != ADEPT_OK) return 1;
    std::cout << estimate.step_time_s << " s, " << estimate.power_avg_w << " W\n";
    const bool unknown = !open_gpu("no-such-gpu") && error.status == ADEPT_E_UNKNOWN_GPU && error.message[0] != '\0';
    return estimate.step_time_s > 0.0 && estimate.power_avg_w > 0.0 && unknown ? 0 : 1;
}
