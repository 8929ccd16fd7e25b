// Models of an Inferflow fleet, called from C++.
//
//   inferflow::Client client({"manager:50060"}, {"ifk_..."});
//   auto input = inferflow::Tensor::of<float>("input", {2, 3}, {1, 2, 3, 4, 5, 6});
//   std::vector<float> scores = client.infer("ranker", {input}).at("scores").values<float>();
//
// A manager is asked which workers serve the model; the call then goes straight to the best of
// them, and to the next at once when that one fails it. Sessions are remembered and renewed before
// their token ends. A client may be shared by any number of threads. Every call has a deadline.

#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "inferflow/serving/v1/manager.grpc.pb.h"
#include "open_inference.grpc.pb.h"

namespace inferflow {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors travel in little-endian order, which this machine does not have"
#endif

// --- errors ---------------------------------------------------------------------------------

// Who has to act.
enum class Fault {
  Caller,  // fix the request
  Absent,  // the model or version is not there
  Busy,    // the same call may succeed a little later
  Late,    // the time given was not enough
  Ours,    // a bug, or a server that broke its promise
};

inline const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::Caller: return "caller";
    case Fault::Absent: return "absent";
    case Fault::Busy: return "busy";
    case Fault::Late: return "late";
    case Fault::Ours: break;
  }
  return "ours";
}

// How a call ended that has no answer. Says what the server said, and which one it was.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

// --- tensors --------------------------------------------------------------------------------

namespace detail {

template <typename T> struct Datatype;
template <> struct Datatype<float> { static constexpr const char* name = "FP32"; };
template <> struct Datatype<double> { static constexpr const char* name = "FP64"; };
template <> struct Datatype<bool> { static constexpr const char* name = "BOOL"; };
template <> struct Datatype<std::int8_t> { static constexpr const char* name = "INT8"; };
template <> struct Datatype<std::int16_t> { static constexpr const char* name = "INT16"; };
template <> struct Datatype<std::int32_t> { static constexpr const char* name = "INT32"; };
template <> struct Datatype<std::int64_t> { static constexpr const char* name = "INT64"; };
template <> struct Datatype<std::uint8_t> { static constexpr const char* name = "UINT8"; };
template <> struct Datatype<std::uint16_t> { static constexpr const char* name = "UINT16"; };
template <> struct Datatype<std::uint32_t> { static constexpr const char* name = "UINT32"; };
template <> struct Datatype<std::uint64_t> { static constexpr const char* name = "UINT64"; };

}  // namespace detail

// An array with a name, in the bytes it travels in.
struct Tensor {
  std::string name;
  std::string datatype;
  std::vector<std::int64_t> shape;
  std::string data;

  template <typename T>
  static Tensor of(std::string name, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    Tensor made{std::move(name), detail::Datatype<T>::name, std::move(shape), {}};
    made.check_count(values.size());
    made.data.reserve(values.size() * sizeof(T));
    for (T value : values) {  // one by one, for a vector of bool has no array inside
      made.data.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
    return made;
  }

  static Tensor of_text(std::string name, std::vector<std::int64_t> shape,
                        const std::vector<std::string>& values) {
    Tensor made{std::move(name), "BYTES", std::move(shape), {}};
    made.check_count(values.size());
    for (const std::string& value : values) {
      const auto size = static_cast<std::uint32_t>(value.size());
      made.data.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(value);
    }
    return made;
  }

  // The values, row by row. Throws Error when they are of another type.
  template <typename T>
  std::vector<T> values() const {
    expect(detail::Datatype<T>::name);
    if (data.size() % sizeof(T) != 0) throw Error(Fault::Ours, name + ": bytes are missing");
    std::vector<T> found;
    found.reserve(data.size() / sizeof(T));
    for (std::size_t at = 0; at < data.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, data.data() + at, sizeof(T));
      found.push_back(value);
    }
    check_count(found.size());
    return found;
  }

  std::vector<std::string> texts() const {
    expect("BYTES");
    std::vector<std::string> found;
    for (std::size_t at = 0; at < data.size();) {
      std::uint32_t size = 0;
      if (at + sizeof(size) > data.size()) throw Error(Fault::Ours, name + ": bytes are missing");
      std::memcpy(&size, data.data() + at, sizeof(size));
      at += sizeof(size);
      if (size > data.size() - at) throw Error(Fault::Ours, name + ": bytes are missing");
      found.emplace_back(data, at, size);
      at += size;
    }
    check_count(found.size());
    return found;
  }

 private:
  void expect(const char* wanted) const {
    if (datatype != wanted) throw Error(Fault::Caller, name + " is " + datatype + ", not " + wanted);
  }

  void check_count(std::size_t given) const {
    std::size_t wanted = 1;
    for (std::int64_t size : shape) wanted *= size < 0 ? 0 : static_cast<std::size_t>(size);
    if (wanted != given) {
      throw Error(Fault::Caller, name + ": " + std::to_string(given) +
                                     " value(s) where its shape takes " + std::to_string(wanted));
    }
  }
};

using Tensors = std::map<std::string, Tensor>;

// --- what a call may ask for ------------------------------------------------------------------

// How managers and workers are called in private. Files are of PEM, and are taken up anew when they
// change: a new certificate needs no new client.
struct Tls {
  bool on = false;          // true with a file below, too
  std::string ca_file;      // who signs the servers' certificates; the system's own when empty
  std::string cert_file;    // to be shown to servers that ask for one, with its key
  std::string key_file;
  std::string server_name;  // that certificates must be for; the host that is called when empty

  bool is_wanted() const { return on || !ca_file.empty() || !cert_file.empty(); }
};

struct Options {
  std::string key;  // an API key with the permission `inference`
  std::chrono::milliseconds deadline{1000};  // for calls that name none
  int max_answer_bytes = 64 << 20;
  Tls tls;
};

struct Call {
  std::string version;               // empty: what the stage says
  std::string stage;                 // empty: production
  std::string affinity;              // calls with the same text prefer the same worker
  bool needs_gpu = false;
  std::vector<std::string> outputs;  // empty: all of them
  std::chrono::milliseconds deadline{0};
};

// --- the client -------------------------------------------------------------------------------

namespace detail {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRounds = 3;
constexpr int kRoundsLater = 12;  // workers hear of a new model within a heartbeat
constexpr int kSilences = 2;      // so many calls without an answer, and a worker is taken for hung
constexpr milliseconds kFirstPause{25}, kLongestPause{250};
constexpr milliseconds kSoon{400}, kPatience{5000};  // for a manager; the second for the last one
constexpr milliseconds kLookAgain{15000}, kAgainAfterFailure{1000}, kShortestToken{2000};
constexpr milliseconds kFirstAway{1000}, kLongestAway{30000};
constexpr std::size_t kMostSessions = 1024;

constexpr unsigned kLookForFilesSeconds = 1;

inline void check_readable(const std::string& path) {
  if (!path.empty() && !std::ifstream(path)) {
    throw Error(Fault::Caller, "tls: " + path + " cannot be read");
  }
}

// What channels are opened with. Throws Error for files that cannot be used.
inline std::shared_ptr<grpc::ChannelCredentials> credentials_of(const Tls& tls) {
  using namespace grpc::experimental;
  if (!tls.is_wanted()) return grpc::InsecureChannelCredentials();
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    throw Error(Fault::Caller, "tls: a certificate and its key go together");
  }
  for (const std::string* path : {&tls.ca_file, &tls.cert_file, &tls.key_file}) check_readable(*path);
  TlsChannelCredentialsOptions options;
  if (!tls.ca_file.empty() || !tls.cert_file.empty()) {
    options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
        tls.key_file, tls.cert_file, tls.ca_file, kLookForFilesSeconds));
  }
  if (!tls.ca_file.empty()) options.watch_root_certs();
  if (!tls.cert_file.empty()) options.watch_identity_key_cert_pairs();
  return TlsCredentials(options);
}

inline std::shared_ptr<grpc::Channel> open_channel(
    const std::string& address, const Options& chosen,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments options;
  options.SetMaxReceiveMessageSize(chosen.max_answer_bytes);
  if (!chosen.tls.server_name.empty()) options.SetSslTargetNameOverride(chosen.tls.server_name);
  options.SetInt("grpc.keepalive_time_ms", 10000);
  options.SetInt("grpc.keepalive_timeout_ms", 2000);
  options.SetInt("grpc.http2.ping_timeout_ms", 2000);
  options.SetInt("grpc.initial_reconnect_backoff_ms", 100);
  options.SetInt("grpc.max_reconnect_backoff_ms", 2000);
  options.SetInt("grpc.enable_retries", 0);  // repeated here, at another worker
  return grpc::CreateCustomChannel(address, credentials, options);
}

inline milliseconds doubled(milliseconds first, int times, milliseconds longest) {
  return std::min(longest, first * (1 << std::min(std::max(times, 0), 10)));
}

// One worker as this client knows it. Guarded by the client's mutex, but for its stub.
struct Worker {
  std::string id, address;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub;
  int in_flight = 0, failures = 0, silences = 0;
  Clock::time_point away_until{};

  bool is_away(Clock::time_point now) const { return now < away_until; }
  void failed(Clock::time_point now) {
    away_until = now + doubled(kFirstAway, failures++, kLongestAway);
  }
};

struct Session {
  std::string version, token;
  std::vector<std::shared_ptr<Worker>> workers;  // best first
  Clock::time_point look_again_at{}, ends_at{};
};

struct Manager {
  std::string address;
  std::unique_ptr<serving::v1::Discovery::Stub> stub;
};

inline bool is_away(grpc::StatusCode code) {
  return code == grpc::UNAVAILABLE || code == grpc::CANCELLED;
}

inline bool is_full(const grpc::Status& status, const grpc::ClientContext& context) {
  return status.error_code() == grpc::RESOURCE_EXHAUSTED &&
         context.GetServerTrailingMetadata().count("retry-after-ms") != 0;
}

inline Fault fault_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::INVALID_ARGUMENT:
    case grpc::UNAUTHENTICATED:
    case grpc::PERMISSION_DENIED:
    case grpc::FAILED_PRECONDITION: return Fault::Caller;
    case grpc::NOT_FOUND: return Fault::Absent;
    case grpc::UNAVAILABLE:
    case grpc::CANCELLED:
    case grpc::RESOURCE_EXHAUSTED: return Fault::Busy;
    case grpc::DEADLINE_EXCEEDED: return Fault::Late;
    default: return Fault::Ours;
  }
}

inline Error error_of(const grpc::Status& status, const std::string& model,
                      const std::string& address) {
  return Error(fault_of(status.error_code()),
               "model '" + model + "' at " + address + ": " + status.error_message());
}

}  // namespace detail

class Client {
 public:
  // Waits for nobody: the first call does, inside its deadline.
  explicit Client(const std::vector<std::string>& managers, Options options = {})
      : options_(std::move(options)),
        credentials_(detail::credentials_of(options_.tls)),
        chance_(std::random_device{}()) {
    if (managers.empty()) throw Error(Fault::Caller, "no manager is named; give host:port");
    for (const std::string& address : managers) {
      auto channel = detail::open_channel(address, options_, credentials_);
      managers_.push_back({address, serving::v1::Discovery::NewStub(channel)});
    }
  }

  // Run a model; its outputs by name. Throws Error.
  Tensors infer(const std::string& model, const std::vector<Tensor>& inputs, const Call& call = {}) {
    const auto given = call.deadline.count() ? call.deadline : options_.deadline;
    const auto until = detail::Clock::now() + given;
    const Wanted wanted{model, call.version, call.stage, call.affinity, call.needs_gpu};
    inference::ModelInferRequest request = written(model, inputs, call);
    Tries tries;
    auto session = found(wanted, until);
    for (;;) {
      for (const auto& worker : ordered(*session, !call.affinity.empty())) {
        inference::ModelInferResponse answer;
        request.set_model_version(session->version);
        if (asked(*worker, *session, request, answer, until, tries)) return read(answer);
        if (!goes_on(wanted, *worker, *session, tries)) throw tries.error(model);
        if (tries.status.error_code() == grpc::UNAUTHENTICATED) break;
      }
      session = next_round(wanted, session, tries, until);
    }
  }

 private:
  using Time = detail::Clock::time_point;
  using SessionPtr = std::shared_ptr<detail::Session>;
  using Wanted = std::tuple<std::string, std::string, std::string, std::string, bool>;

  // How it went so far, for one call.
  struct Tries {
    int rounds = 0, renewals = 0;
    bool was_full = false;
    grpc::Status status;
    std::string address;

    Error error(const std::string& model) const {
      return detail::error_of(status, model, address);
    }
  };

  static inference::ModelInferRequest written(const std::string& model,
                                              const std::vector<Tensor>& inputs, const Call& call) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    for (const Tensor& tensor : inputs) {
      auto* input = request.add_inputs();
      input->set_name(tensor.name);
      input->set_datatype(tensor.datatype);
      for (std::int64_t size : tensor.shape) input->add_shape(size);
      request.add_raw_input_contents(tensor.data);
    }
    for (const std::string& name : call.outputs) request.add_outputs()->set_name(name);
    return request;
  }

  static Tensors read(inference::ModelInferResponse& answer) {
    if (answer.raw_output_contents_size() != answer.outputs_size()) {
      throw Error(Fault::Ours, "the answer has outputs that are not raw bytes");
    }
    Tensors found;
    for (int at = 0; at < answer.outputs_size(); ++at) {
      const auto& output = answer.outputs(at);
      Tensor tensor{output.name(), output.datatype(),
                    {output.shape().begin(), output.shape().end()},
                    std::move(*answer.mutable_raw_output_contents(at))};
      found.emplace(output.name(), std::move(tensor));
    }
    return found;
  }

  // --- workers ------------------------------------------------------------------------------

  // Who is there, then who has least to do for us; with an affinity, the manager's own order.
  std::vector<std::shared_ptr<detail::Worker>> ordered(const detail::Session& session, bool sticky) {
    std::lock_guard<std::mutex> held(mutex_);
    const auto now = detail::Clock::now();
    auto workers = session.workers;
    std::stable_sort(workers.begin(), workers.end(), [&](const auto& one, const auto& other) {
      const auto rank = [&](const auto& worker) {
        return std::make_pair(worker->is_away(now), sticky ? 0 : worker->in_flight);
      };
      return rank(one) < rank(other);
    });
    return workers;
  }

  bool asked(detail::Worker& worker, const detail::Session& session,
             const inference::ModelInferRequest& request, inference::ModelInferResponse& answer,
             Time until, Tries& tries) {
    grpc::ClientContext context;
    set_deadline(context, until);
    if (!session.token.empty()) context.AddMetadata("authorization", "Bearer " + session.token);
    count(worker, 1);
    tries.status = worker.stub->ModelInfer(&context, request, &answer);
    tries.address = worker.address;
    tries.was_full = detail::is_full(tries.status, context);
    count(worker, -1, tries.status.ok());
    return tries.status.ok();
  }

  void count(detail::Worker& worker, int by, bool answered = false) {
    std::lock_guard<std::mutex> held(mutex_);
    worker.in_flight += by;
    if (answered) {
      worker.failures = worker.silences = 0;
      worker.away_until = {};
    }
  }

  // Whether another try is in order. Notes how the worker did.
  bool goes_on(const Wanted& wanted, detail::Worker& worker, detail::Session& session,
               Tries& tries) {
    std::lock_guard<std::mutex> held(mutex_);
    const auto now = detail::Clock::now();
    const auto code = tries.status.error_code();
    if (detail::is_away(code)) {
      worker.failed(now);
      session.look_again_at = std::min(session.look_again_at, now);
      return true;
    }
    if (code == grpc::DEADLINE_EXCEEDED && ++worker.silences >= detail::kSilences) {
      worker.failed(now);
      session.look_again_at = std::min(session.look_again_at, now);
    }
    if (code == grpc::UNAUTHENTICATED) {
      sessions_.erase(wanted);
      return tries.renewals++ == 0;
    }
    return tries.was_full || code == grpc::NOT_FOUND;
  }

  SessionPtr next_round(const Wanted& wanted, const SessionPtr& session, Tries& tries, Time until) {
    const auto code = tries.status.error_code();
    if (code == grpc::UNAUTHENTICATED) return found(wanted, until);
    const auto pause = tries.rounds ? pause_after(tries.rounds) : detail::milliseconds{0};
    const int most = code == grpc::NOT_FOUND ? detail::kRoundsLater : detail::kRounds;
    if (tries.was_full || ++tries.rounds >= most || detail::Clock::now() + pause >= until) {
      throw tries.error(std::get<0>(wanted));
    }
    std::this_thread::sleep_for(pause);
    try {
      return discovered(wanted, until);
    } catch (const Error& failed) {
      if (failed.fault() != Fault::Busy) throw;
      return session;  // the managers are away, or know no other: it is all there is
    }
  }

  detail::milliseconds pause_after(int rounds) {
    const auto longest = detail::doubled(detail::kFirstPause, rounds - 1, detail::kLongestPause);
    std::lock_guard<std::mutex> held(mutex_);
    return longest / 2 + detail::milliseconds(chance_() % (longest.count() / 2 + 1));
  }

  // --- sessions -----------------------------------------------------------------------------

  SessionPtr found(const Wanted& wanted, Time until) {
    SessionPtr known;
    {
      std::lock_guard<std::mutex> held(mutex_);
      const auto now = detail::Clock::now();
      const auto at = sessions_.find(wanted);
      if (at != sessions_.end() && now < at->second->ends_at) {
        known = at->second;
        if (now < known->look_again_at) return known;
        known->look_again_at = now + detail::kAgainAfterFailure;  // one asks, the others go on
      }
    }
    if (!known) return discovered(wanted, until);
    try {
      return discovered(wanted, until);
    } catch (const Error&) {
      return known;  // good until its token ends
    }
  }

  SessionPtr discovered(const Wanted& wanted, Time until) {
    serving::v1::DiscoverRequest request;
    request.set_model(std::get<0>(wanted));
    request.set_version(std::get<1>(wanted));
    request.set_stage(std::get<2>(wanted));
    request.set_affinity_key(std::get<3>(wanted));
    request.set_needs_gpu(std::get<4>(wanted));
    for (const std::string& id : avoided(wanted)) request.add_avoid(id);
    serving::v1::DiscoverResponse answer;
    ask_managers(request, answer, until);
    return remembered(wanted, answer);
  }

  std::vector<std::string> avoided(const Wanted& wanted) {
    std::lock_guard<std::mutex> held(mutex_);
    std::vector<std::string> ids;
    const auto at = sessions_.find(wanted);
    if (at == sessions_.end()) return ids;
    for (const auto& worker : at->second->workers) {
      if (worker->is_away(detail::Clock::now())) ids.push_back(worker->id);
    }
    return ids;
  }

  // The manager that answered last is asked first; one that is away is passed over.
  void ask_managers(const serving::v1::DiscoverRequest& request,
                    serving::v1::DiscoverResponse& answer, Time until) {
    const std::size_t first = preferred();
    std::string why;
    for (std::size_t step = 0; step < managers_.size(); ++step) {
      const std::size_t at = (first + step) % managers_.size();
      const bool is_last = step + 1 == managers_.size();
      grpc::ClientContext context;
      const auto patience = is_last ? detail::kPatience : detail::kSoon;
      set_deadline(context, std::min(until, detail::Clock::now() + patience));
      if (!options_.key.empty()) context.AddMetadata("authorization", "Bearer " + options_.key);
      const grpc::Status status = managers_[at].stub->Discover(&context, request, &answer);
      if (status.ok()) return prefer(at);
      const auto code = status.error_code();
      if (!detail::is_away(code) && code != grpc::DEADLINE_EXCEEDED) {
        throw detail::error_of(status, request.model(), managers_[at].address);
      }
      why += (why.empty() ? "" : "; ") + managers_[at].address + ": " + status.error_message();
    }
    const bool is_late = detail::Clock::now() >= until;
    throw Error(is_late ? Fault::Late : Fault::Busy,
                "model '" + request.model() + "' is not available: " + why);
  }

  std::size_t preferred() {
    std::lock_guard<std::mutex> held(mutex_);
    return preferred_;
  }

  void prefer(std::size_t at) {
    std::lock_guard<std::mutex> held(mutex_);
    preferred_ = at;
  }

  SessionPtr remembered(const Wanted& wanted, const serving::v1::DiscoverResponse& answer) {
    using namespace std::chrono;
    const auto now = detail::Clock::now();
    const auto today = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
    // However wrong this machine's clock is, a token just given is good for a moment.
    const auto left = std::max(milliseconds(answer.token_expires_ms()) - today,
                               detail::kShortestToken);
    auto session = std::make_shared<detail::Session>();
    session->version = answer.version();
    session->token = answer.token();
    session->look_again_at = now + std::min(left / 2, detail::kLookAgain);
    session->ends_at = now + left;
    std::lock_guard<std::mutex> held(mutex_);
    for (const auto& target : answer.workers()) {
      session->workers.push_back(worker_at(target.worker_id(), target.address()));
    }
    if (sessions_.size() >= detail::kMostSessions) sessions_.erase(sessions_.begin());
    sessions_[wanted] = session;
    return session;
  }

  // Connections are held by sessions and calls under way, and by nothing else.
  std::shared_ptr<detail::Worker> worker_at(const std::string& id, const std::string& address) {
    std::weak_ptr<detail::Worker>& kept = workers_[{id, address}];
    if (auto known = kept.lock()) return known;
    auto made = std::make_shared<detail::Worker>();
    made->id = id;
    made->address = address;
    made->stub = inference::GRPCInferenceService::NewStub(
        detail::open_channel(address, options_, credentials_));
    kept = made;
    return made;
  }

  static void set_deadline(grpc::ClientContext& context, Time until) {
    const auto left = until - detail::Clock::now();
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::microseconds>(left));
  }

  Options options_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::vector<detail::Manager> managers_;
  std::mutex mutex_;  // guards everything below, and what workers and sessions remember
  std::size_t preferred_ = 0;
  std::map<Wanted, SessionPtr> sessions_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<detail::Worker>> workers_;
  std::minstd_rand chance_;
};

}  // namespace inferflow
