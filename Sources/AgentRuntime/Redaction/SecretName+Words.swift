/// The words by which names of secrets are known.
///
/// Sources: `gitleaks:generic-api-key` with its list of what is none, `detect-secrets:keyword`, the names of variables
/// in the documentation of the services, and what languages call a password.
extension SecretName {
  static let passwords: Set<String> = [
    "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "pswd", "psw", "passwort",
    "kennwort", "contraseña", "contrasena", "senha", "mdp", "пароль", "密码", "密碼", "パスワード", "비밀번호",
    "userpass", "redisauth", "rediscliauth", "dbpass", "storepass", "keypass", "pgpass", "rootpass",
    "adminpass", "smtppass",
    "mailpass", "bindpass", "mysqlpass", "rootpw", "adminpw", "bindpw", "userpw", "dbpw", "passwrd",
    "pass", "pw", "hasło", "haslo",
    "wachtwoord", "lösenord",
    "losenord", "heslo", "şifre", "sifre", "salasana", "adgangskode", "adgangsord", "jelszó",
    "jelszo", "passord", "kodeord", "лозинка", "κωδικός", "סיסמה", "סיסמא", "पासवर्ड", "รหัสผ่าน",
    "گذرواژه", "口令", "暗号", "비번", "lösenordet", "wachtwoordzin", "toegangscode", "sshpass",
    "palavrapasse", "parolaccesso", "codigosecreto",
  ]

  /// One to three last words of a name, written without what parts them.
  static let phrases: [String: Kind] = {
    var all: [String: Kind] = [:]
    for word in passwords where word != "pass" { all[word] = .password }
    for word in [
      "motdepasse", "كلمةالمرور", "كلمةالسر", "mậtkhẩu", "katasandi", "رمزعبور", "parolaordine",
      "κωδικόςπρόσβασης",
    ] { all[word] = .password }
    for word in [
      "pin", "pincode", "cvv", "cvv2", "cvc", "cvc2", "cvn", "securitycode",
      "cardcode", "onetimepassword", "otp", "totp", "otpcode", "totpcode", "mfacode", "2facode",
    ] { all[word] = .digits }
    for word in [
      "secret", "secrets", "apikey", "apikeys", "credential", "credentials", "creds", "cred", "jwt",
      "secretkey", "secretkeybase", "secretaccesskey", "accesskey", "privatekey", "authkey",
      "bearer", "xapikey",
      "apisecret", "mnemonic", "seedphrase", "recoveryphrase", "mnemonicphrase",
      "secretphrase", "backupphrase", "walletphrase", "seedwords", "recoverywords", "recoverycode",
      "recoverycodes", "backupcode", "backupcodes", "recoverykey", "phpsessid", "jsessionid",
      "sessid", "sessionsecret", "connectsid", "authorizationcode", "authcode", "sas",
      "basicauth", "wifkey", "devicecode", "privkey", "pgpprivate", "gpgprivate", "privatekeypem",
      "totpseed", "unlockcode", "securityanswer", "geheimnis", "geheimschlüssel",
      "geheimschluessel", "zugangsschlüssel", "zugangsschluessel", "apischlüssel",
      "apischluessel", "clavesecreta", "claveapi", "chavesecreta", "chaveapi", "chiavesegreta",
      "chiaveapi", "clésecrète", "clesecrete", "clédapi", "cledapi", "cléapi", "cleapi", "jeton",
      "jetonacces", "jetonaccès", "jetondacces", "jetondaccès", "密钥", "密鑰", "apiキー", "api密钥",
      "秘密鍵", "codeverifier", "clientassertion", "samlresponse", "samlassertion", "sonarlogin",
    ] { all[word] = .secret }
    // Words that say something else as well.
    for word in ["clave", "parola", "psk", "wpapsk"] { all[word] = .key }
    for word in ["authorization", "cookie", "cookies", "setcookie", "proxyauthorization"] {
      all[word] = .header
    }
    for word in [
      "connectionstring", "connstring", "connstr", "connectionurl", "connectionuri", "databaseurl",
      "databaseuri", "dburl", "dburi", "dsn", "redisurl", "redisuri", "mongourl", "mongouri",
      "mongodburi", "mongodburl", "postgresurl", "postgresqlurl", "postgresuri", "mysqlurl",
      "amqpurl", "rabbitmqurl", "brokerurl", "jdbcurl", "webhook", "webhooks", "webhookurl",
      "webhookuri", "hookurl", "sasurl", "sasuri", "presignedurl", "signedurl", "sentrydsn",
      "datasourcename", "elasticsearchurl", "proxyurl", "httpproxy", "httpsproxy",
    ] { all[word] = .address }
    for word in [
      "cardnumber", "creditcard", "creditcardnumber", "cardno", "ccnumber", "ccnum", "debitcard",
      "pan", "cardpan", "card",
    ] { all[word] = .card }
    // What looks like one of the above and is none.
    for word in ["nopass", "bypass", "compass"] { all[word] = nil }
    for word in ["auth", "authentication", "sharedsecret", "authinfo", "dockerconfigjson"] {
      all[word] = all[word] ?? .weak
    }
    all["sharedsecret"] = .secret
    return all
  }()

  /// What a password or key is called in sentences, some of whose words have letters of no ASCII.
  static let namesInSentences = [
    "密码", "密碼", "口令", "密钥", "密鑰", "パスワード", "暗証", "apiキー", "비밀번호", "비번", "пароль", "Пароль",
    "ключ api",
    "كلمة المرور", "كلمة السر", "رمز عبور", "סיסמ", "पासवर्ड", "รหัสผ่าน", "κωδικ", "Κωδικ",
    "mật khẩu", "senha", "contraseña", "password", "parola", "heslo", "hasło", "lösenord",
    "mot de passe", "passord", "adgangskode", "jelszó", "şifre", "salasana",
  ].map { Array($0.utf8) }

  /// Endings of words that are written as one; the first that fits counts.
  static let endings: [(String, Kind)] = [
    ("password", .password), ("passwd", .password), ("passphrase", .password),
    ("passcode", .password), ("secret", .secret), ("apikey", .secret), ("secretkey", .secret),
    ("accesskey", .secret), ("privatekey", .secret), ("credentials", .secret),
    ("authkey", .secret), ("token", .secret), ("密码", .password), ("密碼", .password),
    ("パスワード", .password), ("비밀번호", .password), ("口令", .password), ("キー", .weak), ("秘密鍵", .secret),
    ("密钥", .secret),
  ]

  /// Last words that say nothing of what the value is.
  static let decorations: Set<String> = [
    "value", "val", "text", "plain", "plaintext", "raw", "cleartext", "clear", "base64", "b64",
    "encoded", "data", "prod", "production", "dev", "development", "staging", "stage", "qa", "uat",
    "test", "testing", "live", "sandbox", "local", "old", "new", "current", "previous", "prev",
    "backup", "primary", "secondary", "main", "default", "confirm", "confirmation", "confirmed",
    "again", "repeat", "repeated", "v1", "v2", "v3", "override", "env", "fallback", "temp", "tmp",
    "dec", "decrypted", "unencrypted", "str", "literal",
  ]

  /// Words before `key` that make it a secret.
  static let secretKeys: Set<String> = [
    "api", "secret", "access", "private", "priv", "auth", "encryption", "encrypt", "decryption",
    "signing", "sign", "master", "account", "storage", "shared", "ssh", "service", "role", "app",
    "application", "deploy", "session", "hmac", "webhook", "consumer", "admin", "license",
    "licence", "client", "root", "subscription", "functions", "function", "crypt", "crypto",
    "cipher", "aes", "rsa", "ecdsa", "ed25519", "jwt", "jwk", "tls", "ssl",
    "server", "integration", "ingest", "ingestion", "write", "rest", "openai", "anthropic",
    "github", "gitlab", "stripe", "sendgrid", "twilio", "mailgun", "datadog", "db", "database",
    "sas",
    "recovery", "user", "wallet", "mnemonic", "instrumentation", "provisioning",
    "registration", "management", "maintenance", "cookie", "csrf", "flask", "django", "rails",
    "laravel", "fernet", "vapid", "apns", "fcm", "push", "bot", "merchant", "partner", "vendor",
    "developer", "trial", "activation", "product", "serial", "unseal", "restricted", "live",
    "algolia", "azure", "aws", "gcp", "google", "gemini", "mistral", "cohere", "groq", "tavily",
    "pinecone", "langsmith", "huggingface", "hf", "replicate", "together", "deepseek",
    "firebase", "supabase", "cloudflare", "heroku", "newrelic", "sentry", "honeycomb",
    "mailchimp", "slack", "discord", "telegram", "dd", "cf", "b2", "minio", "wireguard", "wg",
    "psk", "preshared", "wifi", "wpa", "network", "device", "enrollment", "join", "cluster",
  ]

  /// Words before `key` with which it is none.
  static let plainKeys: Set<String> = [
    "public", "pub", "publishable", "primary", "foreign", "sort", "partition", "cache",
    "idempotency", "hot", "idx", "natural", "schema", "sequence", "bucket", "object", "map",
    "dict", "json", "index", "row", "column", "composite", "unique", "lookup", "search", "group",
    "grouping", "range", "hash", "record", "item", "issue", "project", "i18n", "translation",
    "message", "shortcut", "arrow", "enter", "escape", "return", "home", "press", "any", "same",
    "the", "a", "this", "each", "state", "query", "react", "registry", "config", "setting",
    "option", "property", "attribute", "field", "label", "tag", "topic", "routing", "shard",
    "sharding", "dedup", "deduplication", "context", "feature", "metric", "event", "feed",
    "candidate", "surrogate", "business", "parent", "child", "left", "right", "up", "down", "sub",
    "dictionary", "header", "path", "file", "namespace",
    "bold", "answer", "turn", "low", "musical", "major", "minor", "for", "is",
    "in", "of", "to", "by", "on", "and", "or", "with", "host", "known", "trusted", "finger",
    "order", "sorting", "filter", "param", "parameter", "env", "variable", "kms", "prompt",
    "source", "target", "from", "next", "last", "first", "s3", "blob", "category", "locale",
  ]

  /// Words before `token` with which it is a piece of a text, a place in a list or a count.
  static let plainTokens: Set<String> = [
    "next", "prev", "previous", "page", "nextpage", "continuation", "continue", "sync", "eos",
    "bos", "pad", "unk", "sep", "cls", "mask", "stop", "special", "first", "last", "start", "end",
    "min", "max", "input", "output", "prompt", "completion", "total", "cached", "reasoning", "num",
    "n", "per", "image", "audio", "text", "delimiter", "cancellation", "cancel", "comma", "paren",
    "current", "word", "single", "each", "one", "a", "the", "this", "that", "any", "no", "by",
    "every", "lexer", "parser", "syntax", "keyword", "identifier", "operator", "punctuation",
    "design", "color", "sub", "de", "out", "of", "for", "cursor", "resume", "is", "and", "or",
    "added", "eot", "pagination", "position", "pos", "watermark", "checkpoint", "concurrency",
    "non", "erc20", "governance", "fungible", "native", "lp", "reward", "staking", "block",
    "progress",
  ]

  /// Words before `tokens` with which they are secrets.
  static let secretTokens: Set<String> = [
    "access", "refresh", "auth", "api", "bearer", "id", "session", "secret", "device", "push",
    "oauth", "personal", "service", "deploy", "bot", "user",
  ]

  /// Words before `pass` with which it tells how something went.
  static let statusWords: Set<String> = [
    "first", "second", "last", "next", "final", "must", "should", "will", "can", "tests", "test",
    "checks", "a", "the", "single", "render", "forward", "backward", "boarding", "season", "ski",
    "bus", "by", "did", "and", "or", "to", "on", "mountain", "of", "is", "each", "one", "two",
  ]

  /// The members of a JSON Web Key that are secret (RFC 7518, 6.2.2, 6.3.2 and 6.4.1).
  static let webKeyParts: Set<String> = ["d", "p", "q", "dp", "dq", "qi", "k"]
}
