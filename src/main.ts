import { Command } from "commander";

const program = new Command("mooring");
await program.parseAsync();
