import { KubeConfig, type RequestContext } from "@kubernetes/client-node";

type Dispatcher = NonNullable<ReturnType<RequestContext["getDispatcher"]>>;

/** All requests share one pool of connections. KubeConfig 2.0.1 makes one for each request, and so a TLS handshake. */
export class PooledKubeConfig extends KubeConfig {
  #pool: Dispatcher | undefined;

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.#pool ??= context.getDispatcher();
    if (this.#pool !== undefined) context.setDispatcher(this.#pool);
  }
}
