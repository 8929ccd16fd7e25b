/** The smallest text that shows each part of a config. Nothing is live yet: it is published over version 0. */
export const STARTER = {
  version: 0,
  format: "yaml" as const,
  text: `dag_execution_config:
  component_dependency:              # parent: [children]
    feature_initializer: [fs_user]
    fs_user: []

component_config:
  feature_component_config:
    fs_user:
      fs_keys: {schema: [user_id], col: "context:user:user_id"}
      fs_request:
        entity_label: user
        feature_groups:
          - {label: profile, feature_labels: [age]}
      fs_flatten_resp_keys: [user_id]
      col_name_prefix: user

response_config:
  features: ["user:profile:age"]
`,
};
