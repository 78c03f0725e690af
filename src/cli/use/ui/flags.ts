export const AUTHS = ["url-token", "none", "bearer-token"] as const;
export type UiFlags = {
  kubeconfig?: string;
  namespace: string[];
  bindAddress: string;
  auth: (typeof AUTHS)[number];
  readOnly?: boolean;
  allowedHosts: string[];
  artifactRoot?: string;
  allowPrivateNetworks?: boolean;
  deniedNetworks: string[];
  healthProbeBindAddress: string;
};
