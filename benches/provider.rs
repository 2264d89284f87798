//! A Provider for the benchmarks: the real program on a new SQLite database, with one Brand, one personal agent, and whoever
//! else a flow needs.

use std::error::Error;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::config::OutboundConfig;
use assent::crypto::pa_jwt;
use assent::crypto::signer::{GeneratedKey, Signer, generate_key};
use assent::domain::brand::SigningAlg;
use assent::entropy::Entropy;
use assent::outbound::{Outbound, Request, Response, SystemResolver};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::{Url, form_urlencoded};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

pub(crate) const BRAND: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";
const AUDIENCE: &str = "bench";
const PA: &str = "https://pa.example.com";
const BRAND_LOGIN: &str = "https://shop.example";
const SCOPE: &str = "orders:read orders:cancel";

/// The program at work. It does not outlive this value.
pub(crate) struct Server(Child);

impl Server {
    /// `VmRSS` in KiB (proc(5)).
    pub(crate) fn resident_kib(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Everybody whom a flow needs.
pub(crate) struct Provider {
    directory: PathBuf,
    pub(crate) port: u16,
    http: Outbound,
    pa: Signer,
    brand: Signer,
    entropy: Entropy,
}

impl Provider {
    /// Sets one up in an empty `directory`, with `more` sections of the configuration.
    pub(crate) async fn new(directory: &Path, more: &str) -> Outcome<Self> {
        let pa = generate_key(SigningAlg::Es256, "pa-1")?;
        let brand = generate_key(SigningAlg::Es256, "brand-1")?;
        let (port, admin) = (free_port()?, free_port()?);
        let keys = serve_keys(format!("{{\"keys\":[{}]}}", pa.public_jwk)).await?;
        std::fs::write(directory.join("assent.toml"), configuration(directory, port, admin) + more)?;
        std::fs::write(directory.join("apply.toml"), apply_file(&keys, &brand)?)?;
        let config = OutboundConfig { allow_private: true, ..OutboundConfig::default() };
        let provider = Self {
            directory: directory.to_owned(),
            port,
            http: Outbound::new(&config, Arc::new(SystemResolver))?,
            pa: Signer::from_private_jwk(pa.private_jwk.expose())?,
            brand: Signer::from_private_jwk(brand.private_jwk.expose())?,
            entropy: Entropy::operating_system(),
        };
        for arguments in [&["migrate"][..], &["apply", "apply.toml"][..]] {
            let done = provider.assent().args(arguments).stdout(Stdio::null()).status()?;
            assert!(done.success(), "assent {arguments:?} failed");
        }
        Ok(provider)
    }

    fn assent(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assent"));
        command.current_dir(&self.directory).arg("--config").arg("assent.toml");
        command
    }

    /// Serves, in place of the shell's `prefix` where there is one, and answers.
    pub(crate) async fn start(&self, prefix: &[&str]) -> Outcome<Server> {
        let program = self.assent();
        let mut command = match prefix.split_first() {
            None => program,
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.current_dir(&self.directory).args(rest).arg(program.get_program()).args(program.get_args());
                command
            }
        };
        let server = Server(command.arg("serve").stderr(File::create(self.log())?).spawn()?);
        for _ in 0..5000 {
            if self.exchange(Request::get(self.url("/healthz")?)).await.is_ok() {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err("the server does not answer".into())
    }

    /// What the server logs, from `warn` up.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("assent.log")
    }

    pub(crate) fn url(&self, path: &str) -> Outcome<Url> {
        Ok(Url::parse(&format!("http://127.0.0.1:{}{path}", self.port))?)
    }

    pub(crate) async fn exchange(&self, request: Request) -> Outcome<Response> {
        Ok(self.http.exchange(request).await?)
    }

    async fn form(&self, path: &str, bearer: Option<&str>, pairs: &[(&str, &str)], expected: u16) -> Outcome<String> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let path = format!("/a2a/{BRAND}/oauth{path}");
        let mut request = Request::post(self.url(&path)?, "application/x-www-form-urlencoded", body);
        if let Some(token) = bearer {
            request = request.header("authorization", &format!("Bearer {token}"));
        }
        let response = self.exchange(request).await?;
        let body = String::from_utf8(response.body)?;
        if response.status != expected {
            return Err(format!("{path}: {} {body}", response.status).into());
        }
        Ok(body)
    }

    /// A JWT of `sub`, signed by the personal agent.
    pub(crate) fn pa_jwt(&self, sub: &str) -> Outcome<String> {
        pa_jwt(&self.pa, sub)
    }

    pub(crate) async fn device_authorization(&self, jwt: &str) -> Outcome<Value> {
        let form = self.form("/device_authorization", Some(jwt), &[("scope", SCOPE)], 200);
        Ok(serde_json::from_str(&form.await?)?)
    }

    /// A whole flow of the User `number`.
    pub(crate) async fn flow(&self, number: usize) -> Outcome<()> {
        let now = Clock::system().now();
        let (sub, user) = (format!("user-{number}"), format!("jane-{number}"));
        let jwt = self.pa_jwt(&sub)?;
        let started = self.device_authorization(&jwt).await?;

        let assertion = json!({
            "iss": BRAND_LOGIN, "aud": self.url(&format!("/a2a/{BRAND}/oauth/consent"))?.as_str(), "sub": user,
            "user_code": text(&started, "user_code")?, "jti": self.entropy.uuid().to_string(), "iat": now.seconds(),
            "exp": now.seconds() + 120,
        });
        let assertion = self.brand.sign_claims("JWT", &assertion)?;
        let page = self.form("/consent", None, &[("assertion", &assertion)], 200).await?;
        let session = page.split_once("name=\"session\" value=\"").ok_or("a page without a session")?.1;
        let session = session.split_once('"').ok_or("a page without a session")?.0;
        let decision =
            [("session", session), ("decision", "allow"), ("scope", "orders:read"), ("scope", "orders:cancel")];
        self.form("/consent/decision", None, &decision, 303).await?;

        let code = text(&started, "device_code")?;
        let grant_type = "urn:ietf:params:oauth:grant-type:device_code";
        let redeem = [("grant_type", grant_type), ("device_code", code)];
        let tokens: Value = serde_json::from_str(&self.form("/token", Some(&jwt), &redeem, 200).await?)?;
        let access = text(&tokens, "access_token")?;

        let message = json!({ "message": {
            "messageId": "m-1", "role": "ROLE_USER", "parts": [{ "text": "Cancel order A-88213" }],
        } });
        let url = self.url(&format!("/a2a/{BRAND}/message:send"))?;
        let request = Request::post(url, "application/json", message.to_string())
            .header("authorization", &format!("Bearer {jwt}"))
            .header("x-a2a-user-delegation", &format!("Bearer {access}"));
        let reply = self.exchange(request).await?;
        if reply.status != 200 || !String::from_utf8_lossy(&reply.body).contains("pact.receipt") {
            return Err(format!("message:send: {}", reply.status).into());
        }

        let refresh = text(&tokens, "refresh_token")?;
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        self.form("/token", Some(&jwt), &refresh, 200).await?;
        Ok(())
    }
}

/// A PA JWT of `sub` that `signer` signs.
pub(crate) fn pa_jwt(signer: &Signer, sub: &str) -> Outcome<String> {
    Ok(pa_jwt::sign(signer, PA, sub, AUDIENCE, Clock::system().now(), Duration::from_secs(280))?)
}

pub(crate) fn text<'a>(object: &'a Value, name: &str) -> Outcome<&'a str> {
    Ok(object.get(name).and_then(Value::as_str).ok_or_else(|| format!("no {name}"))?)
}

fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Serves the personal agent's keys at every path, for as long as this process runs.
async fn serve_keys(body: String) -> Outcome<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    Ok(format!("http://{address}/jwks.json"))
}

fn configuration(directory: &Path, port: u16, admin: u16) -> String {
    format!(
        "public_url = \"http://127.0.0.1:{port}\"\naudience = \"{AUDIENCE}\"\nlisten = \"127.0.0.1:{port}\"\n\
         admin_listen = \"127.0.0.1:{admin}\"\ndatabase_url = \"sqlite://{}/assent.db\"\nlog = \"warn\"\n\
         master_key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"\n[outbound]\nallow_private = true\n",
        directory.display()
    )
}

fn apply_file(keys: &str, brand: &GeneratedKey) -> Outcome<String> {
    let jwk: Value = serde_json::from_str(&brand.public_jwk)?;
    let (x, y) = (text(&jwk, "x")?, text(&jwk, "y")?);
    Ok(format!(
        r#"[[personal_agent]]
name = "Bench"
issuer = "{PA}"
jwks_uri = "{keys}"

[[brand]]
id = "{BRAND}"
name = "Example Shop"
description = "Orders."
version = "1.0.0"
skills = [{{ id = "orders", name = "Orders", description = "Orders.", tags = ["orders"] }}]
agent = {{ builtin = "demo" }}

[brand.delegation]
login_url = "{BRAND_LOGIN}/login"
assertion = {{ issuer = "{BRAND_LOGIN}", jwks = {{ keys = [{{ kty = "EC", crv = "P-256", kid = "brand-1", x = "{x}", y = "{y}" }}] }} }}
scopes = [
  {{ id = "orders:read", description = "Look up your orders" }},
  {{ id = "orders:cancel", description = "Cancel an order", writes = true }},
]
"#
    ))
}
