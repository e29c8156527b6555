#if Live
  import AgentRuntime
  import AgentTrace

  /// What a person does about an error of a model's server, in words that stand behind it.
  struct ErrorAdvice {
    private let provider: ProviderModel
    private let name: String

    init(_ provider: ProviderModel, model name: String) {
      self.provider = provider
      self.name = name
    }

    /// About a reply with a status that is no success; `nil` where only its own text tells.
    func step(status: Int, error: ProviderError?) -> String? {
      if let error, error.isSpendLimit {
        return "the account has no money left, or its limit is reached: raise it with the provider"
      }
      switch status {
      case 300..<400:
        return "the server sends requests elsewhere, which is not followed; check baseUrl"
      case 401:
        return provider.keyVariable.map { "check the key in \($0)" }
          ?? "the server asks for a key: name the variable that holds it in keyFrom"
      case 403:
        return provider.keyVariable.map {
          "the key in \($0) may not use the model “\(name)” here: check its rights, and baseUrl"
        } ?? "the server lets nobody in without a key: name the variable that holds it in keyFrom"
      case 404:
        return
          "check the model's name “\(name)”, and baseUrl: requests go to \(provider.url(of: name))"
      case 405: return "check baseUrl and provider: requests go to \(provider.url(of: name))"
      case 413: return "the request is too large for the server: set context.tokenBudget"
      default: return nil
      }
    }

    /// About a request without a reply; `nil` where nothing but another try helps.
    func step(after failure: HTTPFailure) -> String? {
      switch failure.kind {
      case .unreachable, .connectTimeout:
        "is a server there, and is baseUrl right? agent-eval doctor looks"
      case .invalidCall: "check baseUrl and headers in the agent file"
      case .firstByteTimeout, .idleTimeout, .totalTimeout:
        "a slow model needs more: raise timeouts in the agent file"
      case .connectionLost, .tooLarge, .cancelled: nil
      }
    }
  }
#endif
