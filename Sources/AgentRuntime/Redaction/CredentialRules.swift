/// The forms that services give their credentials, and where each is written down.
///
/// Sources: `gitleaks:RULE` and `trufflehog:DETECTOR` name rules of those scanners, `detect-secrets:PLUGIN` a plugin
/// of that one; `github` is GitHub's list of supported secret scanning patterns, `vendor` the service's own
/// documentation. Lengths are the least of what is in use, since services lengthen them.
enum CredentialRules {
  /// Every form of the tables.
  static let all: [CredentialForm] = tables.flatMap { table in
    table.split(separator: "\n").compactMap { CredentialForm($0) }
  }

  /// One form a line.
  static let tables = [
    clouds, code, models, payments, messages, services, general, webhooks, words,
  ]

  // MARK: Clouds and their tools

  private static let clouds = """
    aws AKIA{u16} gitleaks:aws-access-token
    aws ASIA{u16} gitleaks:aws-access-token
    aws ABIA{u16} gitleaks:aws-access-token
    aws ACCA{u16} gitleaks:aws-access-token
    aws A3T{u17} gitleaks:aws-access-token
    aws ABSK{b60+} gitleaks:aws-amazon-bedrock-api-key-long-lived
    aws bedrock-api-key-{b40+} gitleaks:aws-amazon-bedrock-api-key-short-lived
    aws FwoGZXIvYXdz{b100+} vendor (session tokens)
    aws IQoJb3JpZ2lu{b100+} vendor (session tokens)
    google AIza{n35+} gitleaks:gcp-api-key
    google AQ.Ab{n40+} vendor (keys of Gemini)
    firebase AAAA{n7}:APA91b{n100+} vendor (Cloud Messaging)
    google ya29.{n20+} trufflehog:google_oauth2
    google GOCSPX-{n24+} github google_oauth_client_secret
    google 1//0{n35+} vendor (refresh tokens)
    google GOOG1E{u50+} github google_cloud_storage_access_key
    azure AccountKey=>{b40+} detect-secrets:azure_storage_key
    azure SharedAccessKey=>{b40+} trufflehog:azure_entra
    azure {a4}Q^{t31-40} gitleaks:azure-ad-client-secret
    azure {n44}AzFu{b8+} github azure_function_key
    azure {b77}ASt{b6+} github azure_storage_account_key
    azure {b76}ACDb{b6+} github azure_cosmosdb_key
    azure {b33}AIoT{b5+} github azure_iot_device_key
    azure {b34}ASb{b6+} github azure_service_bus_key
    azure {b43}ACR{a6+} trufflehog:azurecontainerregistry
    azure 1.A{n50+}.Ag{n200+} trufflehog:azure_entra
    azure 0.A{n50+}.Ag{n200+} trufflehog:azure_entra
    azure {a76}AZDO{a4} github azure_devops_personal_access_token
    azure {a52}JQQJ99{a20-28} github azure_openai_key
    newrelic {a42}-NRMA trufflehog:newrelicmobileapptoken
    alibaba LTAI{a12+} trufflehog:alibaba
    tencent AKID{a13-40} github tencent_cloud_secret_id
    digitalocean dop_v1_{n40+} gitleaks:digitalocean-pat
    digitalocean doo_v1_{n40+} gitleaks:digitalocean-access-token
    digitalocean dor_v1_{n40+} gitleaks:digitalocean-refresh-token
    cloudflare v1.0-{n120+} gitleaks:cloudflare-origin-ca-key
    cloudflare cfut_{n40+} trufflehog:cloudflareapitoken
    cloudflare cfat_{n40+} trufflehog:cloudflareapitoken
    cloudflare cfk_{n40+} trufflehog:cloudflareglobalapikey
    heroku HRKU-{n30+} gitleaks:heroku-api-key-v2
    fly fo1_{n40+} gitleaks:flyio-access-token
    fly fm1r_{b40+} gitleaks:flyio-access-token
    fly fm1a_{b40+} gitleaks:flyio-access-token
    fly FlyV1~>{t30+} trufflehog:flyio
    fly fm2_{b40+} gitleaks:flyio-access-token
    vercel vcp_{n24+} github vercel_personal_access_token
    vercel vck_{n24+} github vercel_api_key
    vercel vca_{n24+} github vercel_app_access_token
    vercel vci_{n24+} github vercel_integration_token
    vercel vcr_{n24+} github vercel_app_refresh_token
    vercel vercel_blob_rw_{n20+} vendor
    netlify nfp_{n36+} github netlify_personal_access_token
    render rnd_{a28+}? github render_api_key
    convex prod:{n5-80}|{t40+} vendor (deploy keys)
    convex dev:{n5-80}|{t40+} vendor (deploy keys)
    convex preview:{n5-80}|{t40+} vendor (deploy keys)
    daytona dtn_{h64} vendor
    mongodb mdb_sa_sk_{n30+} github mongodb_atlas_service_account_secret
    scaleway SCW{u17} vendor
    scalingo tk-us-{n40+} gitleaks:scalingo-api-token
    ibm ApiKey-{a8}-{a4}-{a4}-{a4}-{n12+} vendor
    yandex AQVN{n35+} gitleaks:yandex-api-key
    yandex YC{n38}? gitleaks:yandex-aws-access-token
    yandex t1.{s20+}? gitleaks:yandex-access-token
    yandex y0_{n40+} github yandex_cloud_iam_access_secret
    terraform {a14}.atlasv1.{e50+} gitleaks:hashicorp-tf-api-token
    vault hvs.{n24+} gitleaks:vault-service-token
    vault hvb.{n100+} gitleaks:vault-batch-token
    vault hvr.{n24+} vendor
    vault s.{a24} gitleaks:vault-service-token
    pulumi pul-{n40+} gitleaks:pulumi-api-token
    infracost ico-{n30+} gitleaks:infracost-api-token
    doppler dp.{l2-5}.{s40+} trufflehog:doppler
    openshift sha256^{n40+} gitleaks:openshift-user-token
    tailscale tskey-{l3-10}-{a8+}-{n16+} trufflehog:tailscale
    defined dnkey-{n20+} gitleaks:defined-networking-api-token
    databricks dapi{h32+} gitleaks:databricks-api-token
    databricks dose{h32+} github databricks_oauth_secret
    snowflake ver:1-hint:{d5+}-ETMsD{b20+} vendor
    planetscale pscale_tkn_{e30+} gitleaks:planetscale-api-token
    planetscale pscale_oauth_{e30+} gitleaks:planetscale-oauth-token
    planetscale pscale_pw_{e30+} gitleaks:planetscale-password
    supabase sbp_{n40+} trufflehog:supabasetoken
    supabase sb_secret_{n20+} vendor
    neon napi_{n60+} vendor
    prefect pnu_{n36+} gitleaks:prefect-api-token
    prefect pnb_{n36+} vendor
    dbt dbtc_{n30+} vendor
    dbt dbtu_{n30+} vendor
    dynatrace dt0c01.{u24}.{n60+} gitleaks:dynatrace-api-token
    dynatrace dt0s{d2}.{u8}.{u60+} vendor
    clickhouse 4b1d{a38} gitleaks:clickhouse-cloud-api-secret-key
    confluent cflt{a40+} github confluent_api_secret
    harness pat.{n22}.{a24}.{n20+} gitleaks:harness-api-key
    harness sat.{n22}.{a24}.{n20+} gitleaks:harness-api-key
    sentry sntrys_{t60+} gitleaks:sentry-org-token
    sentry sntryu_{n60+} gitleaks:sentry-user-token
    newrelic NRAK-{n27+} gitleaks:new-relic-user-api-key
    newrelic NRII-{n20+} gitleaks:new-relic-insert-key
    newrelic NRIQ-{n20+} trufflehog:newreliclicensekey
    newrelic NRJS-{n19+} gitleaks:new-relic-browser-api-token
    newrelic NRBR-{n19+} trufflehog:newrelicbrowser
    newrelic {h32}FFFFNRAL trufflehog:newreliclicensekey
    newrelic eu01xx{h26}FFFFNRAL trufflehog:newreliclicensekey
    grafana glc_{b32+} gitleaks:grafana-cloud-api-token
    grafana glsa_{n38+} gitleaks:grafana-service-account-token
    honeycomb hcaik_{n40+} github honeycomb_ingest_key
    honeycomb hcalk_{n40+} vendor
    honeycomb hcamk_{n20+} vendor
    rootly rootly_{n60+} trufflehog:rootly
    axiom xaat-{a8}-{a4}-{a4}-{a4}-{n12+} vendor
    axiom xapt-{a8}-{a4}-{a4}-{a4}-{n12+} vendor
    logfire pylf_v{d1}_{a2}_{a40+} vendor
    launchdarkly sdk-{a8}-{a4}-{a4}-{a4}-{n12+} trufflehog:launchdarkly
    launchdarkly api-{a8}-{a4}-{a4}-{a4}-{n12+} trufflehog:launchdarkly
    launchdarkly rel-{a8}-{a4}-{a4}-{a4}-{n12+} vendor
    """

  // MARK: Code hosts, registries, builds

  private static let code = """
    github ghp_{n30+} gitleaks:github-pat
    github gho_{n30+} gitleaks:github-oauth
    github ghu_{n30+} gitleaks:github-app-token
    github ghs_{n30+} gitleaks:github-app-token
    github ghr_{n30+} gitleaks:github-refresh-token
    github github_pat_{n22+} gitleaks:github-fine-grained-pat
    gitlab glpat-{e20+} gitleaks:gitlab-pat
    gitlab gldt-{s20+} gitleaks:gitlab-deploy-token
    gitlab glft-{n20+} gitleaks:gitlab-feed-token
    gitlab glffct-{n20+} gitleaks:gitlab-feature-flag-client-token
    gitlab glcbt-{n20+} gitleaks:gitlab-cicd-job-token
    gitlab glimt-{n20+} gitleaks:gitlab-incoming-mail-token
    gitlab glagent-{n40+} gitleaks:gitlab-kubernetes-agent-token
    gitlab gloas-{n40+} gitleaks:gitlab-oauth-app-secret
    gitlab glptt-{n30+} gitleaks:gitlab-ptt
    gitlab glrt-{s20+} gitleaks:gitlab-runner-authentication-token
    gitlab glsoat-{n20+} gitleaks:gitlab-scim-token
    gitlab glwt-{n20+} vendor
    gitlab GR1348941{n20+} gitleaks:gitlab-rrt
    gitlab _gitlab_session=>{l32} gitleaks:gitlab-session-cookie
    bitbucket ATBB{t28+} trufflehog:atlassian
    bitbucket ATCTT3xFfG{t40+} trufflehog:atlassian
    bitbucket BBDC-{t40+} trufflehog:bitbucketdatacenter
    atlassian ATATT{t40+} trufflehog:atlassian
    atlassian ATSTT{t60+} vendor
    npm npm_{n36+} gitleaks:npm-access-token
    npm //registry.npmjs.org/:_authToken=>{t20+} detect-secrets:npm
    pypi pypi-{n50+} gitleaks:pypi-upload-token
    rubygems rubygems_{n40+} gitleaks:rubygems-api-token
    nuget oy2{l43} github nuget_api_key
    crates cio{a32} github crates_io_api_token
    clojars CLOJARS_{n50+} gitleaks:clojars-api-token
    docker dckr_pat_{n27+} trufflehog:dockerhub
    docker dckr_oat_{n32+} trufflehog:dockerhub
    artifactory AKCp{a60+} gitleaks:artifactory-api-key
    artifactory cmVmd{a55+} gitleaks:artifactory-reference-token
    octopus API-{n26+} gitleaks:octopus-deploy-api-key
    sonar squ_{n40+} gitleaks:sonar-api-token
    sonar sqp_{n40+} gitleaks:sonar-api-token
    sonar sqa_{n40+} gitleaks:sonar-api-token
    circleci CCIPAT_{a22}_{n40+} trufflehog:circleci
    circleci CCIPRJ_{a22}_{n40+} github circleci_project_access_token
    buildkite bkua_{n40+} trufflehog:buildkite
    buildkite bkaj_{n20+} vendor
    sourcegraph sgp_{n40+} gitleaks:sourcegraph-access-token
    sourcegraph slk_{n64+} trufflehog:sourcegraph
    sourcegraph sgd_{n60+} vendor
    postman PMAK-{H24}-{n34+} gitleaks:postman-api-token
    postman PMAT-{n26+} github postman_collection_key
    snyk snyk_uat.{s40+} vendor
    snyk snyk_sat.{s40+} vendor
    figma figd_{n40+} trufflehog:figmapersonalaccesstoken
    figma figp_{n40+} trufflehog:figmapersonalaccesstoken
    linear lin_api_{n32+} gitleaks:linear-api-key
    linear lin_oauth_{n60+} github linear_oauth_access_token
    notion ntn_{n40+} gitleaks:notion-api-token
    notion secret_{n43+} trufflehog:notion
    airtable pat{a14}.{h64} gitleaks:airtable-personnal-access-token
    asana 0/{d10-20}:{h32} github asana_personal_access_token
    asana 1/{d10-20}:{h32} github asana_personal_access_token
    asana 2/{d10-20}/{d10-20}:{h32} github asana_personal_access_token
    clickup pk_{d6-12}_{u32} github clickup_personal_api_token
    shortcut sct_rw_{n20+} vendor
    contentful CFPAT-{n43+} trufflehog:contentful
    readme rdme_{n60+} gitleaks:readme-api-token
    typeform tfp_{e40+} gitleaks:typeform-api-token
    frameio fio-u-{e60+} gitleaks:frameio-api-token
    1password ops_eyJ{b100+} gitleaks:1password-service-account-token
    1password A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5} gitleaks:1password-secret-key
    1password A3-{u6}-{u11}-{u5}-{u5}-{u5} gitleaks:1password-secret-key
    bitwarden 0.{h8}-{h4}-{h4}-{h4}-{h12}.{a30}:{b24+} vendor
    authress sc_{l5-30}.{l4-6}.acc{t40+} gitleaks:authress-service-client-access-key
    authress ext_{l5-30}.{l4-6}.acc{t40+} gitleaks:authress-service-client-access-key
    authress scauth_{l5-30}.{l4-6}.acc{t40+} gitleaks:authress-service-client-access-key
    authress authress_{l5-30}.{l4-6}.acc{t40+} gitleaks:authress-service-client-access-key
    endor endr+{n16+} trufflehog:endorlabs
    """

  // MARK: Models and what is built on them

  private static let models = """
    key sk-proj-{n20+} gitleaks:openai-api-key
    key sk-svcacct-{n20+} gitleaks:openai-api-key
    key sk-admin-{n20+} gitleaks:openai-api-key
    openai sess-{n40+} vendor
    key sk-ant-{n20+} gitleaks:anthropic-api-key
    key sk-or-{n20+} trufflehog:openrouter
    key sk-lf-{n20+} vendor
    key pk-lf-{n20+} vendor
    key sk-helicone-{n20+} vendor
    cursor key_{h64} vendor
    cursor crsr_{h64} vendor
    key sk-{n20+}? gitleaks:openai-api-key, and the many that copied it
    groq gsk_{n30+} trufflehog:groq
    xai xai-{n60+} trufflehog:xai
    perplexity pplx-{n40+} gitleaks:perplexity-api-key
    huggingface hf_{a30+} gitleaks:huggingface-access-token
    huggingface api_org_{n30+} gitleaks:huggingface-organization-api-token
    replicate r8_{n37+} trufflehog:replicate
    nvidia nvapi-{n60+} trufflehog:nvapi
    fireworks fw_{a22+}? vendor
    together tgp_v1_{n40+} vendor
    cerebras csk-{n40+} vendor
    elevenlabs sk_{h48} trufflehog:elevenlabs
    pinecone pcsk_{n40+} trufflehog:pinecone
    langsmith lsv2_{l2}_{h32}_{n10+} trufflehog:langsmith
    langsmith ls__{n32+} vendor
    wandb wandb_v1_{n40+} vendor
    tavily tvly-{n20+} vendor
    firecrawl fc-{h32} vendor
    apify apify_api_{n36+} trufflehog:apify
    e2b e2b_{n40+} vendor
    modal ak-{a22}? vendor
    modal as-{a22}? vendor
    runpod rpa_{n40+} vendor
    lambda secret_{l10-60}_{h32}.{n32+} vendor
    browserbase bb_live_{n20+} vendor
    jina jina_{n50+} vendor
    voyage pa-{n43} vendor
    braintrust bt-st-{n40+} vendor
    arcade arc_{n40+} vendor
    mem0 m0-{a36+} vendor
    context7 ctx7sk-{n20+} vendor
    brave BSA{n24-32}? vendor
    llamaindex llx-{n40+} vendor
    fal {h8}-{h4}-{h4}-{h4}-{h12}:{h32} vendor
    coze pat_{a60+} vendor
    """

  // MARK: Payments and shops

  private static let payments = """
    stripe sk_live_{n10+} gitleaks:stripe-access-token
    stripe sk_test_{n10+} gitleaks:stripe-access-token
    stripe sk_prod_{n10+} gitleaks:stripe-access-token
    stripe rk_live_{n10+} gitleaks:stripe-access-token
    stripe rk_test_{n10+} gitleaks:stripe-access-token
    stripe rk_prod_{n10+} gitleaks:stripe-access-token
    stripe sk_org_{n20+} vendor
    stripe whsec_{b20+} vendor
    stripe pi_{a24}_secret_{a20+} trufflehog:stripepaymentintent
    stripe seti_{a24}_secret_{n20+} vendor
    square sq0atp-{n22+} gitleaks:square-access-token
    square sq0c{l2}-{n40+} detect-secrets:square_oauth
    square sq0i{l2}-{n22+} trufflehog:squareapp
    square EAAA{n22-90}? gitleaks:square-access-token
    paypal access_token$production${l16}${h32} trufflehog:paypaloauth
    paypal access_token$sandbox${l16}${h32} trufflehog:paypaloauth
    adyen AQE{b50+}.{x10+} vendor
    adyen AQE{b50+}-{x20+} vendor
    razorpay rzp_live_{n14+} trufflehog:razorpay
    razorpay rzp_test_{n14+} vendor
    flutterwave FLWSECK_TEST-{n12+} gitleaks:flutterwave-secret-key
    flutterwave FLWSECK-{l32}-X trufflehog:flutterwave
    flutterwave FLWSECK_LIVE-{n12+} vendor
    shopify shpat_{n32+} gitleaks:shopify-access-token
    shopify shpca_{n32+} gitleaks:shopify-custom-access-token
    shopify shppa_{n32+} gitleaks:shopify-private-app-access-token
    shopify shpss_{n32+} gitleaks:shopify-shared-secret
    shopify shptka_{n32+} vendor
    shopify shpua_{n32+} vendor
    duffel duffel_live_{e40+} gitleaks:duffel-api-token
    duffel duffel_test_{e40+} gitleaks:duffel-api-token
    easypost EZAK{a50+} gitleaks:easypost-api-token
    easypost EZTK{a50+} gitleaks:easypost-test-api-token
    shippo shippo_live_{n40+} gitleaks:shippo-api-token
    shippo shippo_test_{n40+} gitleaks:shippo-api-token
    lob live_{h35} gitleaks:lob-api-key
    lob test_{h35} gitleaks:lob-api-key
    plaid access-sandbox-{a8}-{a4}-{a4}-{a4}-{n12+} gitleaks:plaid-api-token
    plaid access-development-{a8}-{a4}-{a4}-{a4}-{n12+} gitleaks:plaid-api-token
    plaid access-production-{a8}-{a4}-{a4}-{a4}-{n12+} gitleaks:plaid-api-token
    gocardless live_{n40}? gitleaks:gocardless-api-token
    mollie live_{a30}? vendor
    checkout sk_sbox_{n20+} vendor
    paddle pdl_live_apikey_{n40+} vendor
    paddle pdl_sdbx_apikey_{n40+} vendor
    ramp ramp_sec_{n48+} trufflehog:ramp
    polar polar_{l3-4}_{n30+} vendor
    settlemint sm_aat_{n16+} gitleaks:settlemint-application-access-token
    settlemint sm_pat_{n16+} gitleaks:settlemint-personal-access-token
    settlemint sm_sat_{n16+} gitleaks:settlemint-service-access-token
    wallet xprv{a107} vendor (BIP 32)
    wallet 5H{a49}? vendor (Bitcoin)
    wallet 5J{a49}? vendor (Bitcoin)
    wallet 5K{a49}? vendor (Bitcoin)
    wallet nsec1{l58} vendor (Nostr, NIP-19)
    age AGE-SECRET-KEY-1{u50+} gitleaks:age-secret-key
    """

  // MARK: Messages and mail

  private static let messages = """
    slack xoxb-{n10+} gitleaks:slack-bot-token
    slack xoxp-{n10+} gitleaks:slack-user-token
    slack xoxa-{n10+} gitleaks:slack-legacy-workspace-token
    slack xoxr-{n10+} gitleaks:slack-legacy-workspace-token
    slack xoxs-{n10+} gitleaks:slack-legacy-token
    slack xoxo-{n10+} gitleaks:slack-legacy-token
    slack xoxe-{n10+} gitleaks:slack-config-refresh-token
    slack xoxe.xoxb-{n20+} gitleaks:slack-config-access-token
    slack xoxe.xoxp-{n20+} gitleaks:slack-config-access-token
    slack xoxc-{n20+} vendor
    slack xoxd-{t20+} vendor
    slack xapp-{n10+} gitleaks:slack-app-token
    slack xwfp-{n20+} vendor
    discord {n23-28}.{n6}.{n27-45} detect-secrets:discord
    discord mfa.{n80+} vendor
    telegram {d8-10}:AA{n33} gitleaks:telegram-bot-api-token
    twilio SK{H32} gitleaks:twilio-api-key
    twilio AC{H32}:>{h32} trufflehog:twilio
    twilio AC{H32} detect-secrets:twilio
    sendgrid SG.{e50+} gitleaks:sendgrid-api-token
    mailgun key-{h32} gitleaks:mailgun-private-api-token
    mailgun key-{l32}? trufflehog:mailgun
    mailgun {h32}-{h8}-{h8} gitleaks:mailgun-signing-key
    mailchimp {h32}-us{d1-2} gitleaks:mailchimp-api-key
    brevo xkeysib-{n70+} gitleaks:sendinblue-api-token
    brevo xsmtpsib-{n70+} vendor
    resend re_{a8}_{a24} vendor
    resend re_{a32+}? vendor
    mandrill md-{n22} vendor
    mailersend mlsn.{n60+} vendor
    klaviyo pk_{h34} trufflehog:klaviyo
    klaviyo pk_{a6}_{h34} trufflehog:klaviyo
    intercom dG9rO{b50+} github intercom_access_token
    hubspot pat-na1-{a8}-{a4}-{a4}-{a4}-{n12+} trufflehog:hubspot
    hubspot pat-na2-{a8}-{a4}-{a4}-{a4}-{n12+} vendor
    hubspot pat-eu1-{a8}-{a4}-{a4}-{a4}-{n12+} trufflehog:hubspot
    facebook EAA{a60+} gitleaks:facebook-page-access-token
    facebook {d15-16}|{n27-40} gitleaks:facebook-access-token
    instagram IGQV{n60+} vendor
    instagram IGQW{n60+} vendor
    instagram IGAA{n60+} vendor
    twitter AAAAAAAAAAAAAAAAAAAAA{t60+} gitleaks:twitter-bearer-token
    linkedin AQV{n90+} vendor
    linkedin AQX{n90+} vendor
    matrix syt_{a4+}_{a20}_{n6+} vendor (Matrix)
    """

  // MARK: Other services

  private static let services = """
    flexport shltm_{n36+} trufflehog:flexport
    locationiq pk.{n32}? trufflehog:locationiq
    mapbox sk.{s80+}? trufflehog:mapbox
    fullstory na1.{b90+} trufflehog:fullstory
    fleetbase flb_live_{n18+} trufflehog:fleetbase
    dfuse web_{l32}? trufflehog:dfuse
    bannerbear bb_pr_{n28+} trufflehog:bannerbear
    bannerbear bb_ma_{n28+} trufflehog:bannerbear
    gemini master-{a20}? trufflehog:gemini
    gemini account-{a20}? trufflehog:gemini
    finage API_KEY{u32} trufflehog:finage
    tableau {b22}==:{a32} trufflehog:tableau
    closecrm api_{s45}? trufflehog:closecrm
    pubnub sub-c-{a8}-{a4}-{a4}-{a4}-{a12} trufflehog:pubnubsubscriptionkey
    pubnub sec-c-{a40+} vendor
    intra42 u-s4t2ud-{n60+} trufflehog:intra42
    intra42 u-s4t2af-{n60+} trufflehog:intra42
    paystack sk_{l1-12}_{n40+}? trufflehog:paystack
    webex {a64}_{a4}_{a8}-{a4}-{a4}-{a4}-{a12} trufflehog:webexbot
    robinhood rh-api-{a8}-{a4}-{a4}-{a4}-{a12} trufflehog:robinhoodcrypto
    pagarme ak_live_{n28+} trufflehog:pagarme
    ubidots BBFF-{n30+} trufflehog:ubidots
    nightfall NF-{a32} trufflehog:nightfall
    salad salad_cloud_{n20+} trufflehog:saladcloudapikey
    trufflehog thog-secret-{n30+} trufflehog:trufflehogenterprise
    trufflehog thog-key-{n16+} trufflehog:trufflehogenterprise
    deno ddp_{n34+} trufflehog:deno
    deno ddw_{n34+} trufflehog:deno
    recharge sk_1x{d1}_{n60+} trufflehog:rechargepayments
    linkedin WPL_AP{d1}.{n10+}.{b10+} vendor
    salesforce 00D{a12}!{s80+} trufflehog:salesforce
    salesforce 3MVG9{t70+} trufflehog:salesforceoauth2
    salesforce 5Aep861{t70+} trufflehog:salesforcerefreshtoken
    salesforce 5AEP861{t70+} trufflehog:salesforcerefreshtoken
    okta 00{n40} gitleaks:okta-access-token
    stytch secret-live-{n30+} vendor
    stytch secret-test-{n30+} vendor
    mapbox sk.eyJ{s50+} trufflehog:mapbox
    mapbox pk.eyJ{s60+} gitleaks:mapbox-api-token
    maxmind {a6}_{a29}_mmk gitleaks:maxmind-license-key
    dropbox sl.{n100+} gitleaks:dropbox-short-lived-api-token
    adobe p8e-{n32+} gitleaks:adobe-client-secret
    adafruit aio_{n28+} trufflehog:adafruitio
    posthog phx_{n40+} trufflehog:posthog
    segment sgp_{n60+} vendor
    zoho 1000.{h32}.{n32+} trufflehog:zohocrm
    voiceflow VF.DM.{H24}.{n16+} trufflehog:voiceflow
    voiceflow VF.WS.{H24}.{n16+} trufflehog:voiceflow
    voiceflow VF.{H24}.{a16} trufflehog:voiceflow
    intra42 s-s4t2ud-{n64+} gitleaks:intra42-client-secret
    intra42 s-s4t2af-{n64+} gitleaks:intra42-client-secret
    aiven AVNS_{n16+} vendor
    zuplo zpka_{n40+} github zuplo_consumer_api_key
    unkey unkey_{n16+} vendor
    infisical st.{h24}.{h32}.{h32} vendor
    ory ory_{l2-3}_{n30+} vendor
    calcom cal_live_{n30+} vendor
    openweather appid=>{h32} trufflehog:openweather
    trigger tr_dev_{n16+} vendor
    trigger tr_prod_{n16+} vendor
    trigger tr_pat_{n30+} vendor
    inngest signkey-prod-{n40+} vendor
    inngest signkey-test-{n40+} vendor
    liveblocks sk_dev_{n30+} vendor
    liveblocks sk_prod_{n30+} vendor
    xata xau_{n40+} vendor
    fauna fnA{n37+} vendor
    ghost {h24}:{h64} vendor
    """

  // MARK: Forms of no service

  private static let general = """
    jwt eyJ{n10+}.{n10+}.{n10+} gitleaks:jwt
    jwt eyJ{n10+}.eyJ{n10+} detect-secrets:jwt
    jwt ewo{n10+}.ewo{n10+}.{n10+} trufflehog:jwt
    jwe eyJ{n10+}.{n0+}.{n10+}.{n10+}.{n10+} vendor (RFC 7516)
    jwt eyJ{t40+} detect-secrets:jwt
    jwt ZXlK{b40+} gitleaks:jwt-base64
    hash $2a${d2}${c53} vendor (bcrypt)
    hash $2b${d2}${c53} vendor (bcrypt)
    hash $2x${d2}${c53} vendor (bcrypt)
    hash $2y${d2}${c53} vendor (bcrypt)
    hash $$2a$${d2}$${c53} vendor (bcrypt in files of Compose)
    hash $$2b$${d2}$${c53} vendor (bcrypt in files of Compose)
    hash $$2y$${d2}$${c53} vendor (bcrypt in files of Compose)
    hash $argon2id$v={d2}$m={d1-10},t={d1-10},p={d1-4}${b8-200}${b16+} vendor (Argon2)
    hash $argon2i$v={d2}$m={d1-10},t={d1-10},p={d1-4}${b8-200}${b16+} vendor (Argon2)
    hash $argon2d$v={d2}$m={d1-10},t={d1-10},p={d1-4}${b8-200}${b16+} vendor (Argon2)
    hash $argon2id$m={d1-10},t={d1-10},p={d1-4}${b8-200}${b16+} vendor (Argon2)
    hash $argon2i$m={d1-10},t={d1-10},p={d1-4}${b8-200}${b16+} vendor (Argon2)
    hash $argon2id${t40+} vendor
    hash $scrypt$ln={d1-3},r={d1-4},p={d1-4}${b8-200}${b16+} vendor (scrypt of passlib)
    hash scrypt:{d1-10}:{d1-4}:{d1-4}${b4-200}${b16+} vendor (Werkzeug)
    hash $7${c12-100}${c40+} vendor (scrypt of libsodium)
    hash $y${c2-12}${c4-100}${c40+} vendor (yescrypt)
    hash $gy${c2-12}${c4-100}${c40+} vendor (yescrypt)
    hash $6$rounds={d1-10}${c1-20}${c86} vendor (crypt)
    hash $6${c1-20}${c86} vendor (crypt)
    hash $5$rounds={d1-10}${c1-20}${c43} vendor (crypt)
    hash $5${c1-20}${c43} vendor (crypt)
    hash $1${c1-10}${c22} vendor (crypt)
    hash $apr1${c1-10}${c22} vendor (htpasswd)
    hash $P${c31} vendor (phpass)
    hash $H${c31} vendor (phpass)
    hash $pbkdf2-sha256${d1-10}${c8-200}${c40+} vendor (passlib)
    hash $pbkdf2-sha512${d1-10}${c8-200}${c40+} vendor (passlib)
    hash pbkdf2_sha256${d4+}${a8+}${b40+} vendor (Django)
    hash pbkdf2:sha256:{d1-10}${b4-200}${b16+} vendor (Werkzeug)
    hash SSHA}>{b28+} vendor (LDAP, RFC 2307)
    hash SSHA256}>{b40+} vendor (LDAP)
    hash SSHA512}>{b80+} vendor (LDAP)
    hash aad3b435b51404eeaad3b435b51404ee:>{h32} vendor (SAM of Windows)
    recovery {d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6} vendor (BitLocker)
    ssh b3BlbnNzaC1rZXktdjEA{b40+} vendor (body of an OpenSSH private key)
    """

  // MARK: Addresses that are credentials

  private static let webhooks = """
    webhook hooks.slack.com/services/>{t30+} gitleaks:slack-webhook-url
    webhook hooks.slack.com/workflows/>{t30+} gitleaks:slack-webhook-url
    webhook hooks.slack.com/triggers/>{t30+} gitleaks:slack-webhook-url
    webhook hooks.slack-gov.com/services/>{t30+} vendor
    webhook discord.com/api/webhooks/{d15+}/>{n50+} trufflehog:discordwebhook
    webhook discordapp.com/api/webhooks/{d15+}/>{n50+} trufflehog:discordwebhook
    webhook webhook.office.com/webhookb2/>{x60+} gitleaks:microsoft-teams-webhook
    webhook outlook.office.com/webhook/>{x60+} vendor
    webhook hooks.zapier.com/hooks/catch/>{t10+} trufflehog:zapierwebhook
    webhook hook.eu1.make.com/>{l20+} vendor
    webhook hook.eu2.make.com/>{l20+} vendor
    webhook hook.us1.make.com/>{l20+} vendor
    webhook hook.us2.make.com/>{l20+} vendor
    webhook hook.integromat.com/>{l20+} vendor
    webhook maker.ifttt.com/trigger/{n1+}/with/key/>{n20+} vendor
    webhook maker.ifttt.com/trigger/{n1+}/json/with/key/>{n20+} vendor
    webhook events.pagerduty.com/integration/>{a20+} vendor
    webhook api.telegram.org/bot>{d8-10}:{n30+} vendor
    webhook open.feishu.cn/open-apis/bot/v2/hook/>{n30+} vendor
    webhook open.larksuite.com/open-apis/bot/v2/hook/>{n30+} vendor
    webhook oapi.dingtalk.com/robot/send?access_token=>{h40+} vendor
    webhook qyapi.weixin.qq.com/cgi-bin/webhook/send?key=>{n30+} vendor
    webhook chat.googleapis.com/v1/spaces/{n5+}/messages?key=>{t40+} vendor
    webhook ntfy.sh/>{n24+}? vendor
    webhook infura.io/v3/>{h32} vendor
    webhook infura.io/ws/v3/>{h32} vendor
    webhook g.alchemy.com/v2/>{n32} vendor
    webhook datadoghq.com/v1/input/>{h32} vendor
    webhook datadoghq.com/api/v2/logs?dd-api-key=>{h32} vendor
    webhook hooks/>{n20+}? vendor (Mattermost, Rocket.Chat)
    webhook webhook/>{n24+}? vendor (Home Assistant)
    webhook webhook/>{h8}-{h4}-{h4}-{h4}-{h12} vendor (n8n)
    webhook calendar/ical/{x3-120}/private-{h32} vendor
    webhook m.pipedream.net/>{n20+}? vendor
    webhook conda.anaconda.org/t/>{t20-80} vendor
    password reset-password/>{n32+}? vendor (links that log in)
    password reset_password/>{n32+}? vendor (links that log in)
    password magic?t=>{n32+}? vendor (links that log in)
    password magic-link/>{n32+}? vendor (links that log in)
    password invite/>{n32+}? vendor (links that log in)
    webhook webhook.site/>{h8}-{h4}-{h4}-{h4}-{h12} vendor
    webhook api.opsgenie.com/v1/json/integrations/webhooks/>{x20+} vendor
    webhook alert.victorops.com/integrations/generic/{d1+}/alert/>{x20+} vendor
    webhook hooks.glip.com/webhook/v2/>{t40+} vendor
    webhook automate.circleci.com/hooks/>{t20+} vendor
    """

  // MARK: Words that a credential follows

  private static let words = """
    password password~>{x6-200}? vendor (netrc)
    password machine~{x1-200}~login~{x1-200}~password~>{x3-200} vendor (netrc)
    password requirepass~>{x6-200} vendor (Redis)
    password masterauth~>{x6-200} vendor (Redis)
    password IDENTIFIED~BY~'>{x4-200} vendor (SQL)
    password identified~by~'>{x4-200} vendor (SQL)
    password IDENTIFIED~BY~">{x4-200} vendor (SQL)
    password PASSWORD~'>{x4-200} vendor (SQL)
    password password~'>{x4-200} vendor (SQL)
    password IDENTIFIED~WITH~{w1-40}~BY~'>{x4-200} vendor (SQL)
    password identified~with~{w1-40}~by~'>{x4-200} vendor (SQL)
    password PRAGMA~key~=~'>{x4-200} vendor (SQLCipher)
    password PRAGMA~key='>{x4-200} vendor (SQLCipher)
    password pass:>{x6-200} vendor (OpenSSL)
    password jdbc:oracle:thin:{w1-40}/>{n3-100} vendor
    password sqlplus~{w1-40}/>{n3-100} vendor
    password sshpass~-p~>{x3-200} vendor
    password sshpass~-p~'>{x3-200} vendor
    password sshpass~-p~">{x3-200} vendor
    password sshpass~-p>{x4-200} vendor
    password sshpass~-p'>{x3-200} vendor (sshpass)
    password sshpass~-p">{x3-200} vendor (sshpass)
    password htpasswd~-b{l0-4}~{x1-100}~{x1-60}~>{x4-200} vendor (Apache)
    password ConvertTo-SecureString~">{x4-200} vendor (PowerShell)
    password ConvertTo-SecureString~'>{x4-200} vendor (PowerShell)
    password ConvertTo-SecureString~-String~">{x4-200} vendor (PowerShell)
    password ConvertTo-SecureString~-String~'>{x4-200} vendor (PowerShell)
    password vault~login~>{s20+}? vendor (Vault)
    password add-authtoken~>{n20+} vendor (ngrok)
    password secret~set~{w1-80}~--body~">{x4-200} vendor (GitHub)
    password secret~set~{w1-80}~--body~'>{x4-200} vendor (GitHub)
    password secret~set~{w1-80}~--body~>{x6-200} vendor (GitHub)
    password redis-cli~-a~>{x4-200} vendor
    password AUTH~>{t12-200}? vendor (Redis)
    password AUTH~{w1-40}~>{t12-200}? vendor (Redis, SMTP)
    password requirepass~">{x6-200} vendor (Redis)
    password requirepass~'>{x6-200} vendor (Redis)
    password masterauth~">{x6-200} vendor (Redis)
    password openssl~enc~-k~>{x4-200} vendor (OpenSSL)
    password secret~set~{w1-80}~-b~">{x4-200} vendor (GitHub)
    password secret~set~{w1-80}~-b~>{x6-200} vendor (GitHub)
    password expdp~{w1-40}/>{n3-100} vendor (Oracle)
    password impdp~{w1-40}/>{n3-100} vendor (Oracle)
    password sqlldr~{w1-40}/>{n3-100} vendor (Oracle)
    password rabbitmqctl~add_user~{x1-60}~>{x4-200} vendor (RabbitMQ)
    password rabbitmqctl~change_password~{x1-60}~>{x4-200} vendor (RabbitMQ)
    password htpasswd~-n{l1-4}~{x1-60}~>{x4-200} vendor (Apache)
    password net~user~{x1-60}~>{x6-200}~/add vendor (Windows)
    password wpa_passphrase~{x1-60}~>{x8-100} vendor
    password sudo~-S~<<<~>{x4-200} vendor (shells)
    password sudo~-S~<<<~'>{x4-200} vendor (shells)
    password sudo~-S~<<<~">{x4-200} vendor (shells)
    password with-token~<<<~>{x8-200} vendor (GitHub)
    password with-token~<<<~'>{x8-200} vendor (GitHub)
    password with-token~<<<~">{x8-200} vendor (GitHub)
    password password-stdin~<<<~>{x4-200} vendor (shells)
    password password-stdin~<<<~'>{x4-200} vendor (shells)
    password password-stdin~<<<~">{x4-200} vendor (shells)
    password kinit~{x1-80}~<<<~>{x4-200} vendor (Kerberos)
    password kinit~{x1-80}~<<<~'>{x4-200} vendor (Kerberos)
    password kinit~{x1-80}~<<<~">{x4-200} vendor (Kerberos)
    password xfreerdp~/u:{x1-80}~/p:>{x4-200} vendor (FreeRDP)
    password alias~set~{n1-60}~{x8-200}~{x3-128}~>{x8-200} vendor (MinIO)
    password totp~-b~>{u16-128} vendor (OATH Toolkit)
    password totp~--base32~>{u16-128} vendor (OATH Toolkit)
    password oathtool~-b~--totp~>{u16-128} vendor (OATH Toolkit)
    authorization TRUE~/~TRUE~{d1-12}~{s1-80}~>{t16+}? vendor (cookies.txt)
    authorization FALSE~/~TRUE~{d1-12}~{s1-80}~>{t16+}? vendor (cookies.txt)
    authorization TRUE~/~FALSE~{d1-12}~{s1-80}~>{t16+}? vendor (cookies.txt)
    authorization FALSE~/~FALSE~{d1-12}~{s1-80}~>{t16+}? vendor (cookies.txt)
    authorization base64url.bearer.authorization.k8s.io.>{n16+} vendor (Kubernetes)
    password encrypt_string~'>{x4-200} vendor (Ansible)
    password encrypt_string~">{x4-200} vendor (Ansible)
    password passwd~/Users/{n1-60}~>{x6-200} vendor (macOS)
    password nuget~push~{x1-200}~>{a30-60} vendor (NuGet)
    password stats~auth~{n1-60}:>{x4-200} vendor (HAProxy)
    password snmp-server~community~>{x4-100} vendor (Cisco)
    password tacacs-server~key~>{x6-100} vendor (Cisco)
    password radius-server~key~>{x6-100} vendor (Cisco)
    password password~7~>{H8-100} vendor (Cisco)
    password rootpw~--plaintext~>{x4-200} vendor (Kickstart)
    password PSK~">{x6-200} vendor (strongSwan)
    password user-secrets~set~"{x1-100}"~">{x8-200}? vendor (.NET)
    password static:{x1-60}:>{x8-200}? vendor (Postfix)
    hash grub.pbkdf2.sha512.{d3-8}.{H32-256}.{H32-256} vendor (GRUB)
    authorization bearer,~>{t16+}? vendor (WebSocket)
    authorization Bearer,~>{t16+}? vendor (WebSocket)
    authorization Bearer~>{t16+}? vendor (RFC 6750)
    authorization bearer~>{t16+}? vendor (RFC 6750)
    authorization BEARER~>{t16+}? vendor (RFC 6750)
    authorization Basic~>{b12+}? vendor (RFC 7617)
    authorization basic~>{b16+}? vendor (RFC 7617)
    """
}
