//! The kind, and a status as large as that of the other peers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "GpuEndpoint",
    namespaced,
    status = "GpuEndpointStatus",
    schema = "disabled"
)]
pub struct GpuEndpointSpec {
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuEndpointStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<LastChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    #[serde(rename = "endpointID", skip_serializing_if = "Option::is_none")]
    pub endpoint_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Account {
    #[serde(rename = "baseURL")]
    pub base_url: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastChange {
    pub accepted_time: String,
    pub generation: i64,
    pub observed_time: String,
    pub ready_time: String,
    pub sent_time: String,
    pub synced_time: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RemoteStatus {
    pub status: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    pub attempt: i64,
    pub id: String,
    pub spec_hash: String,
    pub state: String,
    pub time: Time,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Workers {
    pub draining: i64,
    pub healthy: i64,
    pub ready: i64,
    pub total: i64,
}

/// The status of an endpoint that runs. What it has already stays.
pub fn running_status(
    endpoint: &GpuEndpoint,
    base_url: &str,
    id: &str,
    url: String,
) -> GpuEndpointStatus {
    let generation = endpoint.metadata.generation;
    // Objects have times in whole seconds.
    let now = Time(Timestamp::from_second(Timestamp::now().as_second()).expect("in range"));
    let mut status = endpoint.status.clone().unwrap_or_default();
    if status.account.is_none() {
        let uid = endpoint.uid().unwrap_or_default();
        status.account = Some(Account {
            base_url: base_url.into(),
            kind: "Account".into(),
            name: "default".into(),
        });
        status.app_name = Some(format!("{}-539110b65c", endpoint.name_any()));
        status.applied_generation = generation;
        status.created_at = Some(now.clone());
        status.last_applied_time = Some(now.clone());
        status.image = Some("registry.example.com/models/echo:1.0".into());
        let milli = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
            .to_string();
        status.last_change = Some(LastChange {
            accepted_time: milli.clone(),
            generation: generation.unwrap_or_default(),
            observed_time: milli.clone(),
            ready_time: milli.clone(),
            sent_time: milli.clone(),
            synced_time: milli,
        });
        status.state = Some("running".into());
        status.remote = Some(RemoteStatus {
            status: "running".into(),
        });
        status.selector = Some(format!("mooring.dev/endpoint={uid}"));
        status.submission = Some(Submission {
            attempt: 1,
            id: uid,
            spec_hash: "cfc674597ff16226".into(),
            state: "Accepted".into(),
            time: now.clone(),
        });
        status.kind = Some("sync".into());
        status.workers = Some(Workers::default());
    }
    status.endpoint_id = Some(id.into());
    status.url = Some(url);
    status.observed_generation = generation;
    for (type_, reason, message) in [
        ("Synced", "InSync", "The remote equals the spec"),
        ("Ready", "Serving", "The remote endpoint is running"),
    ] {
        set_condition(
            &mut status.conditions,
            Condition {
                type_: type_.into(),
                status: "True".into(),
                reason: reason.into(),
                message: message.into(),
                observed_generation: generation,
                last_transition_time: now.clone(),
            },
        );
    }
    status
}

/// The time of the last transition moves only with the condition's status.
fn set_condition(conditions: &mut Vec<Condition>, mut wanted: Condition) {
    match conditions.iter_mut().find(|one| one.type_ == wanted.type_) {
        Some(present) => {
            if present.status == wanted.status {
                wanted.last_transition_time = present.last_transition_time.clone();
            }
            *present = wanted;
        }
        None => conditions.push(wanted),
    }
}
