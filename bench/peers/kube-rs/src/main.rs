//! A controller of GpuEndpoints as one writes it with kube-rs. It does what the other peers do: creates the remote endpoint, reads it
//! and writes the status. It has no journal.

mod endpoint;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use endpoint::{GpuEndpoint, running_status};
use futures::StreamExt;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{Action, Config as ControllerConfig};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

const FINALIZER: &str = "bench.example.com/f";
const RETRY: Duration = Duration::from_secs(1);

#[derive(Parser)]
struct Flags {
    #[arg(long)]
    kubeconfig: PathBuf,
    #[arg(long, default_value = "http://127.0.0.1:18080")]
    base: String,
    #[arg(long, default_value_t = 64)]
    workers: u16,
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    finalizer: bool,
    /// Seconds.
    #[arg(long, default_value_t = 60)]
    resync: u64,
}

struct Context {
    client: Client,
    http: reqwest::Client,
    flags: Flags,
    /// IDs of endpoints by UID: the cache may lag behind the status.
    created: Mutex<HashMap<String, String>>,
}

#[derive(Debug)]
enum Error {
    Kubernetes(kube::Error),
    Remote(reqwest::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kubernetes(error) => write!(f, "Kubernetes: {error}"),
            Self::Remote(error) => write!(f, "remote service: {error}"),
        }
    }
}
impl std::error::Error for Error {}
impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kubernetes(error)
    }
}
impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Remote(error)
    }
}

#[derive(Deserialize)]
struct Created {
    id: String,
}
#[derive(Deserialize)]
struct Read {
    url: String,
}

impl Context {
    async fn create(&self, endpoint: &GpuEndpoint) -> Result<String, Error> {
        let mut body = endpoint.spec.fields.clone();
        body.insert("name".into(), Value::String(endpoint.name_any()));
        let url = format!(
            "{}/gpu-instance/openapi/v1/endpoint/create",
            self.flags.base
        );
        let request = self
            .http
            .post(url)
            .bearer_auth("k")
            .json(&json!({ "endpoint": body }));
        let created: Created = request.send().await?.error_for_status()?.json().await?;
        Ok(created.id)
    }

    async fn url(&self, id: &str) -> Result<String, Error> {
        let request = self
            .http
            .get(format!("{}/gpus/v2/endpoints/{id}", self.flags.base))
            .bearer_auth("k");
        let read: Read = request.send().await?.error_for_status()?.json().await?;
        Ok(read.url)
    }

    fn known_id(&self, endpoint: &GpuEndpoint, uid: &str) -> Option<String> {
        let status = endpoint.status.as_ref();
        let created = || self.created.lock().expect("not poisoned").get(uid).cloned();
        status
            .and_then(|status| status.endpoint_id.clone())
            .or_else(created)
    }
}

async fn reconcile(endpoint: Arc<GpuEndpoint>, context: Arc<Context>) -> Result<Action, Error> {
    let name = endpoint.name_any();
    let namespace = endpoint.namespace().unwrap_or_default();
    let api: Api<GpuEndpoint> = Api::namespaced(context.client.clone(), &namespace);
    let has_finalizer = endpoint.finalizers().iter().any(|one| one == FINALIZER);
    if endpoint.metadata.deletion_timestamp.is_some() {
        if has_finalizer {
            let mut released = (*endpoint).clone();
            released.finalizers_mut().retain(|one| one != FINALIZER);
            api.replace(&name, &PostParams::default(), &released)
                .await?;
        }
        return Ok(Action::await_change());
    }
    if context.flags.finalizer && !has_finalizer {
        let mut held = (*endpoint).clone();
        held.finalizers_mut().push(FINALIZER.into());
        api.replace(&name, &PostParams::default(), &held).await?;
    }

    let uid = endpoint.uid().unwrap_or_default();
    let id = match context.known_id(&endpoint, &uid) {
        Some(id) => id,
        None => {
            let id = context.create(&endpoint).await?;
            let mut created = context.created.lock().expect("not poisoned");
            created.insert(uid, id.clone());
            id
        }
    };
    let url = context.url(&id).await?;
    let status = running_status(&endpoint, &context.flags.base, &id, url);
    if endpoint.status.as_ref() != Some(&status) {
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(&name, &PatchParams::default(), &patch)
            .await?;
    }
    Ok(Action::requeue(Duration::from_secs(context.flags.resync)))
}

fn retry(endpoint: Arc<GpuEndpoint>, error: &Error, _: Arc<Context>) -> Action {
    eprintln!("{}: {error}", endpoint.name_any());
    Action::requeue(RETRY)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flags = Flags::parse();
    let kubeconfig = Kubeconfig::read_from(&flags.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let workers = flags.workers;
    let context = Arc::new(Context {
        client: client.clone(),
        http: reqwest::Client::new(),
        flags,
        created: Mutex::default(),
    });
    Controller::new(Api::<GpuEndpoint>::all(client), watcher::Config::default())
        .with_config(ControllerConfig::default().concurrency(workers))
        .shutdown_on_signal()
        .run(reconcile, retry, context)
        .for_each(|result| async move {
            if let Err(error) = result {
                eprintln!("{error}");
            }
        })
        .await;
    Ok(())
}
