// Runs a model of a fleet on some rows and prints what it gives.
//
//   INFERFLOW_API_KEY=… inferflow_infer [--repeat N] [--version V] MANAGERS MODEL INPUT COLUMNS VALUE…
//
// MANAGERS is host:port, several with commas. The input is of FP32. With --repeat the call is made so
// often; only the last answer is printed, and every failure. INFERFLOW_TLS_CA, INFERFLOW_TLS_CERT,
// INFERFLOW_TLS_KEY and INFERFLOW_TLS_SERVER_NAME are as for Inferflow's own commands.

#include <cstdlib>
#include <inferflow/client.hpp>
#include <iostream>
#include <sstream>

namespace {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream reading(text);
  for (std::string part; std::getline(reading, part, ',');) parts.push_back(part);
  return parts;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <typename T>
void print_values(const std::vector<T>& values) {
  for (const T& value : values) std::cout << ' ' << value;
  std::cout << '\n';
}

void print(const inferflow::Tensor& tensor) {
  std::cout << tensor.name << ' ' << tensor.datatype << " [";
  for (std::size_t at = 0; at < tensor.shape.size(); ++at) {
    std::cout << (at ? "," : "") << tensor.shape[at];
  }
  std::cout << "]:";
  if (tensor.datatype == "FP32") return print_values(tensor.values<float>());
  if (tensor.datatype == "FP64") return print_values(tensor.values<double>());
  if (tensor.datatype == "INT64") return print_values(tensor.values<std::int64_t>());
  if (tensor.datatype == "BYTES") return print_values(tensor.texts());
  std::cout << ' ' << tensor.data.size() << " bytes\n";
}

}  // namespace

int main(int count, char** given) {
  std::vector<std::string> words(given + 1, given + count);
  int repeat = 1;
  inferflow::Call call;
  while (words.size() > 1 && words[0].rfind("--", 0) == 0) {
    if (words[0] == "--repeat") repeat = std::stoi(words[1]);
    if (words[0] == "--version") call.version = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 5) {
    std::cerr << "usage: inferflow_infer [--repeat N] [--version V] MANAGERS MODEL INPUT COLUMNS VALUE...\n";
    return 2;
  }
  std::vector<float> values;
  for (std::size_t at = 4; at < words.size(); ++at) values.push_back(std::stof(words[at]));
  const std::int64_t columns = std::stoll(words[3]);
  const auto rows = static_cast<std::int64_t>(values.size()) / columns;

  inferflow::Options options;
  options.key = variable("INFERFLOW_API_KEY");
  options.tls.ca_file = variable("INFERFLOW_TLS_CA");
  options.tls.cert_file = variable("INFERFLOW_TLS_CERT");
  options.tls.key_file = variable("INFERFLOW_TLS_KEY");
  options.tls.server_name = variable("INFERFLOW_TLS_SERVER_NAME");
  int failures = 0;
  inferflow::Tensors answer;
  try {
    inferflow::Client client(parts_of(words[0]), options);
    const auto input = inferflow::Tensor::of<float>(words[2], {rows, columns}, values);
    for (int done = 0; done < repeat; ++done) {
      try {
        answer = client.infer(words[1], {input}, call);
        if (done == 0) std::cerr << "answered" << std::endl;
      } catch (const inferflow::Error& failed) {
        ++failures;
        std::cerr << name_of(failed.fault()) << ": " << failed.what() << std::endl;
      }
    }
  } catch (const inferflow::Error& wrong) {
    std::cerr << name_of(wrong.fault()) << ": " << wrong.what() << std::endl;
    return 1;
  }
  for (const auto& [name, tensor] : answer) print(tensor);
  std::cout << repeat << " call(s), " << failures << " failed\n";
  return failures ? 1 : 0;
}
