/** All tests, in one process: they share a service. */
import "./ai.test.js";
import "./answers.test.js";
import "./browser.test.js";
import "./claude_agent_sdk.test.js";
import "./client.test.js";
import "./documents.test.js";
import "./readme.test.js";
import "./running.test.js";
import "./session_store.test.js";
import "./streams.test.js";
