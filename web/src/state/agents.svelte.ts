// The agents of the hub and of its other machines, with the models that they offer.
import { knowingModels } from "../lib/abilities.ts";
import type { AgentInfo, Machine, Machines, Models } from "../lib/contract.ts";
import { http } from "../lib/http.ts";
import { marksOf } from "../lib/marks.ts";
import { titled } from "../lib/words.ts";
import { connection } from "./connection.svelte.ts";
import { wordsOf } from "./toasts.svelte.ts";

class Agents {
  all = $state.raw<AgentInfo[]>([]);
  readonly marks = $derived(marksOf(this.all));
  machines = $state.raw<Machine[]>([]);
  /** Why the models of an agent are not known. */
  modelFaults = $state.raw<Record<string, string>>({});
  /** The agents whose models this hub has told, or was asked for. */
  private asked = new Set<string>();

  find(name: string): AgentInfo | undefined {
    return this.all.find((agent) => agent.name === name);
  }

  /** What an agent is called, also one that is no longer there. */
  title(name: string): string {
    return this.find(name)?.title ?? titled(name);
  }

  /** A hub that was restarted may have other models: whoever wants some asks anew. */
  askAnew(): void {
    this.asked.clear();
  }

  async load(): Promise<void> {
    const { agents } = await connection.call("agents", { models: "known" });
    for (const agent of agents) if (agent.models) this.asked.add(agent.name);
    this.all = knowingModels(agents, this.all);
  }

  /**
   * Asks an agent for its models, once: it has a process to start for that. One that did not answer can be asked again.
   */
  async loadModels(name: string): Promise<void> {
    const agent = this.find(name);
    if (!agent?.path || !agent.capabilities.models || this.asked.has(name)) return;
    // Those of an earlier visit do until the hub is there.
    if (agent.models && connection.state !== "open") return;
    this.asked.add(name);
    const { [name]: _, ...others } = this.modelFaults;
    this.modelFaults = others;
    let answer: Models;
    try {
      answer = await connection.call("models", { agent: name });
    } catch (error) {
      this.asked.delete(name);
      if (!agent.models) this.modelFaults = { ...others, [name]: wordsOf(error) };
      return;
    }
    const withModels = (agents: AgentInfo[]) => agents.map((one) => (one.name === name ? { ...one, ...answer } : one));
    this.all = withModels(this.all);
    this.machines = this.machines.map((machine) => ({ ...machine, agents: withModels(machine.agents) }));
  }

  /** Other machines, where the hub has any; agents of all of them are known by their names. */
  async loadMachines(): Promise<void> {
    try {
      this.machines = (await http<Machines>("GET", "/api/v1/machines?models=known")).machines;
    } catch {
      this.machines = [];
    }
  }
}

export const agents = new Agents();
