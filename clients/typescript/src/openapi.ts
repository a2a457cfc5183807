// Made by tools/types.js from the description of the API.

export interface paths {
    "/api/agent-stats/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_agent_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_apps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/apps/app_id/holds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_holds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/assistant-tags/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_assistant_tags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/assistants/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_assistants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/assistants/app_id/assistant_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_assistant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_chats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_chat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_calls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/context/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["diff_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/context/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_context_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listen"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/input-requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_input_requests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/input-requests/request_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_input_request"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/participants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_participants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_resume"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/resume-points": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_resume_points"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/streams/stream_id/chunks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_chunks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/tool-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tool_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/tool-runs/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_chat_tool_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/app_id/chat_id/ui-message-stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["resume_ui_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/document-events/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listen_to_documents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/document-namespaces/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_document_namespaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_documents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/input-requests/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_pending_inputs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/model-stats/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_model_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["search_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["begin_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sign-in/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["finish_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_app_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats/app_id/workflow_name/chats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_chat_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats/app_id/workflow_name/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_workflow_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/user_id/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["token_balance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tool-stats/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_app_tool_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/user-stats/app_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_user_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/user-stats/app_id/user_id/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_user_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallets/app_id/user_id/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_wallet_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ws/workflow_name/app_id/chat_id/user_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["join"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description What an orchestrator does next: run the failed or the interrupted step again (`retry`, `continue`), wait for an answer, start if no step is open, or nothing.
         * @enum {string}
         */
        Action: "retry" | "continue" | "await_input" | "start" | "nothing_to_do";
        /** @description The usage and the percentiles of the calls of an agent. */
        AgentStats: {
            /**
             * @description Null for calls without an agent.
             * @example planner
             */
            agent?: string | null;
            usage: components["schemas"]["Usage"];
            percentiles: {
                [key: string]: components["schemas"]["Percentiles"];
            };
        };
        /** @description The usage of the agents of an app. */
        AgentStatsResponse: {
            agents: components["schemas"]["AgentUsage"][];
            /** @description Whether there are more than the limit. */
            has_more: boolean;
        };
        /** @description The usage of an agent. */
        AgentUsage: {
            /**
             * @description Null for calls without an agent.
             * @example planner
             */
            agent?: string | null;
            usage: components["schemas"]["Usage"];
            /** @description The usage by the asked step. */
            points?: components["schemas"]["UsagePoint"][] | null;
        };
        /** @description An answered input request. */
        AnsweredInput: {
            input_request: components["schemas"]["InputRequest"];
            /** @description The message that the answer became. */
            message: components["schemas"]["Appended"];
            /**
             * Format: int64
             * @description The chat's counter afterwards: the sequence of the next message.
             * @example 5
             */
            last_sequence: number;
        };
        /** @description A registered app. */
        App: {
            /** @example acme_corp */
            app_id: string;
            /** @description `enabled` or `disabled`. */
            status: components["schemas"]["AppStatus"];
            settings: components["schemas"]["AppSettings"];
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
        };
        /**
         * @description A change of an app.
         * @example {
         *       "settings": {
         *         "default_visibility": "link",
         *         "support_access": null
         *       }
         *     }
         */
        AppChange: {
            settings: components["schemas"]["AppSettingsChange"];
        };
        /**
         * @description The id of an app: 1 to 64 of `A-Z a-z 0-9 _ -`.
         * @example acme_corp
         */
        AppId: string;
        /** @description The settings of an app. Where one is null, the setting of the service applies. */
        AppSettings: {
            default_visibility?: components["schemas"]["Visibility"] | null;
            /** @description Whether users may run the workflows of their own chats. */
            users_may_run?: boolean | null;
            /** @description Whether tokens with the role `support` are admitted to chats. */
            support_access?: boolean | null;
            /**
             * Format: int32
             * @description Days that a completed chat is kept after its last activity; 0 is for ever.
             */
            completed_days?: number | null;
            /**
             * Format: int32
             * @description Days that a failed chat is kept after its last activity; 0 is for ever.
             */
            failed_days?: number | null;
            /**
             * Format: int32
             * @description Days that a running or paused chat is kept after its last activity; 0 is for ever.
             */
            abandoned_days?: number | null;
            /**
             * Format: int32
             * @description Days that a deleted chat is kept after its deletion; 0 is for ever.
             */
            deleted_days?: number | null;
            /**
             * Format: int32
             * @description Days that a run of a tool is kept after it was recorded; 0 is for ever.
             */
            tool_run_days?: number | null;
            /**
             * Format: int32
             * @description Days without activity after which an active chat is archived; 0 is never.
             */
            archive_after_days?: number | null;
            metadata_keys?: components["schemas"]["MetadataKeys"] | null;
        };
        /** @description Changes of settings. A missing setting stays unchanged; with null, the setting of the service applies. */
        AppSettingsChange: {
            default_visibility?: components["schemas"]["Visibility"] | null;
            /** @description Whether users may run the workflows of their own chats. */
            users_may_run?: boolean | null;
            /** @description Whether tokens with the role `support` are admitted to chats. */
            support_access?: boolean | null;
            /**
             * Format: int32
             * @description Days that a completed chat is kept after its last activity; 0 is for ever.
             */
            completed_days?: number | null;
            /**
             * Format: int32
             * @description Days that a failed chat is kept after its last activity; 0 is for ever.
             */
            failed_days?: number | null;
            /**
             * Format: int32
             * @description Days that a running or paused chat is kept after its last activity; 0 is for ever.
             */
            abandoned_days?: number | null;
            /**
             * Format: int32
             * @description Days that a deleted chat is kept after its deletion; 0 is for ever.
             */
            deleted_days?: number | null;
            /**
             * Format: int32
             * @description Days that a run of a tool is kept after it was recorded; 0 is for ever.
             */
            tool_run_days?: number | null;
            /**
             * Format: int32
             * @description Days without activity after which an active chat is archived; 0 is never.
             */
            archive_after_days?: number | null;
            metadata_keys?: components["schemas"]["MetadataKeys"] | null;
        };
        /** @description The statistics of the workflows of an app. */
        AppStatsResponse: components["schemas"]["Summary"] & {
            /** @example acme_corp */
            app_id: string;
            /** @description The starts of the last 24 hours; the current hour is the last. */
            hours: components["schemas"]["Time"][];
            /** @description The workflows, ordered by name. */
            workflows: components["schemas"]["WorkflowSummary"][];
        };
        /**
         * @description Whether an app may be used.
         * @enum {string}
         */
        AppStatus: "enabled" | "disabled";
        /** @description The statistics of all workflows of an app together. */
        AppSummary: components["schemas"]["Summary"] & {
            /** @example acme_corp */
            app_id: string;
        };
        /** @description The sums of the runs of the tools of an app. */
        AppToolStatsResponse: components["schemas"]["ToolStats"] & {
            /** @example acme_corp */
            app_id: string;
        };
        Append: components["schemas"]["NewMessage"] | components["schemas"]["NewMessages"] | components["schemas"]["NewTranscript"];
        /** @description The result of an append. */
        AppendResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @description The chat's counter afterwards: the sequence of the next message.
             * @example 2
             */
            last_sequence: number;
            /** @description One for each message of the request, in order; for a transcript, one for each message it was read as. */
            messages: components["schemas"]["Appended"][];
            /** @description The parts of a transcript that are not stored; missing without a dialect. */
            dropped?: components["schemas"]["Unread"][] | null;
            /** @description What the caller should know although everything is stored; missing if there is nothing. */
            noted?: components["schemas"]["Noted"][];
        };
        /** @description An appended message. */
        Appended: {
            /** @example evt_msg_001 */
            event_id: string;
            /**
             * Format: int64
             * @example 1
             */
            sequence: number;
            /** @description Whether the message was stored before. */
            duplicate: boolean;
        };
        /** @description What an append has done. */
        AppendedDocument: {
            /**
             * Format: int64
             * @description Where the appended bytes begin.
             * @example 1024
             */
            offset: number;
            /**
             * Format: int64
             * @description The size of the content now.
             * @example 2048
             */
            size: number;
            /**
             * @description The `ETag` of the document now, without quotation marks.
             * @example content_0198d4b27c1e7a3b9f552f6c1d0e8a41-2
             */
            entity_tag: string;
            /** @description Whether an earlier request has appended these bytes. */
            duplicate: boolean;
        };
        /** @description The result of a turn. */
        AppendedTurn: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @example req_abc */
            request_id: string;
            /** @description Whether the turn was stored before. */
            duplicate: boolean;
            /**
             * Format: int64
             * @description The chat's counter afterwards: the sequence of the next message.
             * @example 2
             */
            last_sequence: number;
            /** @description One for each stored message, in order. */
            messages: components["schemas"]["Appended"][];
            /**
             * @description The number of resume points.
             * @example 1
             */
            resume_points: number;
            /** @description The parts of the turn that are not stored. */
            dropped: components["schemas"]["DroppedOfTurn"][];
            /** @description What the caller should know although everything is stored; missing if there is nothing. */
            noted?: components["schemas"]["Noted"][];
        };
        /** @description An artifact. */
        Artifact: {
            /**
             * @description The UI tool that shows it.
             * @example code_editor
             */
            ui_tool_id?: string | null;
            /**
             * @description The event that produced it.
             * @example evt_xyz789
             */
            event_id?: string | null;
            /**
             * @description The place in the user interface.
             * @example artifact
             */
            display?: string | null;
            /**
             * @description The workflow that produced it.
             * @example Generator
             */
            workflow_name?: string | null;
            /** @description The data that the tool shows. */
            payload: unknown;
            /** @description When it was produced. */
            updated_at: components["schemas"]["Time"];
        };
        /** @description The last artifact of a chat. */
        ArtifactResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            last_artifact?: components["schemas"]["Artifact"] | null;
        };
        /** @description An assistant. */
        Assistant: {
            /** @example acme_corp */
            app_id: string;
            /** @example weather_assistant */
            assistant_id: string;
            /**
             * @description The user to whom the assistant belongs; null if it belongs to the app.
             * @example user_alice_456
             */
            user_id?: string | null;
            /** @example Weather Assistant */
            name: string;
            /**
             * @description The kind of assistant, in the words of the app.
             * @example assistant
             */
            type: string;
            /** @description The address or the data of a picture. */
            avatar?: string | null;
            description?: string | null;
            /** @description The connector to a model. */
            connector?: string | null;
            /** @description The modes in which the assistant runs; none means every mode. */
            modes: string[];
            /** @description The mode in which it runs unless a chat says otherwise. */
            default_mode?: string | null;
            tags: string[];
            /**
             * Format: int32
             * @description The place of the assistant in lists, smallest first.
             * @example 0
             */
            sort: number;
            /** @description Whether people may mention the assistant in a chat. */
            mentionable: boolean;
            /** @description Whether the assistant runs without a person. */
            automated: boolean;
            /** @description Whether the assistant comes with the app. */
            built_in: boolean;
            /** @description Who may find and read the assistant, besides its owner. */
            visibility: components["schemas"]["Visibility"];
            /** @description The team that the assistant is shared with. */
            team_id?: string | null;
            /** @description The texts of other languages, by language tag. */
            locales: {
                [key: string]: unknown;
            };
            /** @description The settings with which the assistant runs. */
            config: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Grows with every change, from 1.
             * @example 1
             */
            version: number;
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
        };
        /**
         * @description A change of an assistant. A missing field stays as it is. Null clears a field that may be missing, and means the same as
         *     missing for the others.
         * @example {
         *       "description": "Rain or shine"
         *     }
         */
        AssistantChange: {
            user_id?: components["schemas"]["Name"] | null;
            /** @description 1 to 512 characters. */
            name?: string | null;
            type?: components["schemas"]["Name"] | null;
            /** @description At most 64 KiB. */
            avatar?: string | null;
            /** @description At most 64 KiB. */
            description?: string | null;
            connector?: components["schemas"]["Name"] | null;
            /** @description All of the modes, at most 64. */
            modes?: components["schemas"]["Name"][] | null;
            default_mode?: components["schemas"]["Name"] | null;
            /** @description All of the tags, at most 64. */
            tags?: components["schemas"]["Name"][] | null;
            /** Format: int32 */
            sort?: number | null;
            mentionable?: boolean | null;
            automated?: boolean | null;
            built_in?: boolean | null;
            visibility?: components["schemas"]["Visibility"] | null;
            team_id?: components["schemas"]["Name"] | null;
            /** @description All of the texts, at most 64 KiB. */
            locales?: {
                [key: string]: unknown;
            } | null;
            /** @description All of the settings, at most 256 KiB. */
            config?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A tag, and how many assistants have it. */
        AssistantTag: {
            /** @example weather */
            tag: string;
            /**
             * Format: int64
             * @example 3
             */
            assistants: number;
        };
        /** @description The tags of assistants. */
        AssistantTags: {
            /** @description By name. */
            data: components["schemas"]["AssistantTag"][];
            /** @description Whether there may be more tags: 10,000 assistants were examined, or 1,000 tags found. */
            truncated: boolean;
        };
        /** @description The person who wrote a message. */
        Author: {
            /** @example user_alice_456 */
            user_id: string;
            /**
             * @description The display name at that time, if it was given with the message.
             * @example Alice
             */
            display_name?: string | null;
        };
        /** @description The balance of a user. */
        BalanceResponse: {
            /**
             * Format: int64
             * @description Whole tokens; 0 if the user has no wallet.
             * @example 1000
             */
            balance: number;
            /**
             * Format: int64
             * @description The same as `balance`.
             * @example 1000
             */
            remaining: number;
            /** @example user_alice_456 */
            user_id: string;
            /** @example acme_corp */
            app_id: string;
        };
        /** @description The tool call that a question is bound to. */
        BoundToolCall: {
            /** @example call_1 */
            id: string;
            /** @example delete_files */
            name: string;
            arguments: unknown;
            /**
             * @description A hash of the arguments, which an answer repeats.
             * @example 8f2b0c1d9e7a4b3c8f2b0c1d9e7a4b3c
             */
            arguments_hash: string;
        };
        /** @description The calls of a chat. */
        CallSummary: {
            /**
             * Format: int64
             * @description The number of calls.
             * @example 3
             */
            provider_call_count: number;
            /**
             * Format: int64
             * @description The cost of all calls, in millionths of a US dollar.
             * @example 1200
             */
            cost_micros_usd: number;
            /** @description The model that answered the newest call. */
            last_model?: string | null;
            /** @description The provider of that model. */
            last_provider?: string | null;
            /** @description The id that the provider gave to the newest call. */
            last_request_id?: string | null;
        };
        /** @description With `caught-up`: the state of the chat once the subscriber has everything there is. */
        CaughtUp: {
            /**
             * Format: int64
             * @description The sequence of the last message, -1 for an empty chat.
             * @example 41
             */
            sequence: number;
            /**
             * Format: int64
             * @description The number of edits and deletions of messages so far.
             */
            revision: number;
            /** @description `running`, `paused`, `completed` or `failed`. */
            status: components["schemas"]["ChatStatus"];
            /** @description Why the chat was paused or failed. */
            status_reason?: string | null;
            /**
             * Format: int64
             * @description The number of times the context snapshot has been written.
             */
            context_version: number;
            /**
             * Format: int64
             * @description The number of times the last artifact has been replaced or removed.
             */
            artifact_version: number;
            /**
             * Format: int64
             * @description The number of times the chat session itself has been changed, such as its title.
             */
            session_version: number;
            /** @description `active` or `archived`. */
            lifecycle: components["schemas"]["Lifecycle"];
            /** @description The ids of the pending input requests; an `input-request` event for each follows. */
            pending_inputs: string[];
        };
        /** @description The result of a credit or a debit. */
        ChangeResponse: {
            /** @example user_alice_456 */
            user_id: string;
            entry?: components["schemas"]["WalletEntry"] | null;
        };
        /**
         * @description The id of a chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`, beginning with a letter, a digit or `_`.
         * @example chat_abc123def456
         */
        ChatId: string;
        /** @description Everything that a client needs to join a running chat. */
        ChatMeta: {
            /** @example chat_abc123 */
            chat_id: string;
            app_id: string;
            /** @example Generator */
            workflow_name: string;
            user_id?: string | null;
            team_id?: string | null;
            /** @description `app`, `team` or `private`. */
            visibility: components["schemas"]["Visibility"];
            /**
             * Format: int64
             * @example 2847561923
             */
            cache_seed: number;
            /**
             * Format: int32
             * @description 1 running, 2 paused, 3 completed, 4 failed.
             * @example 1
             */
            status: number;
            /** @description The same status as a word. */
            status_name: components["schemas"]["ChatStatus"];
            status_reason?: string | null;
            title?: string | null;
            metadata: {
                [key: string]: unknown;
            };
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
            completed_at?: components["schemas"]["Time"] | null;
            /** Format: double */
            duration_sec: number;
            /**
             * Format: int64
             * @description The sequence of the next message.
             */
            last_sequence: number;
            /** @description The pending input requests, oldest first. */
            pending_inputs: components["schemas"]["InputRequest"][];
            lease?: components["schemas"]["LeaseHolder"] | null;
            last_message_at?: components["schemas"]["Time"] | null;
            /** @description The model connector of the last turn or message that names one. */
            last_connector?: string | null;
            /** @description The mode of the last turn or message that names one. */
            last_mode?: string | null;
            last_turn?: components["schemas"]["LastTurn"] | null;
            last_artifact?: components["schemas"]["Artifact"] | null;
            forked_from?: components["schemas"]["ForkOrigin"] | null;
            /** @description The assistant that the chat talks to. */
            assistant_id?: string | null;
            /**
             * Format: int32
             * @description The place of the chat in lists that are sorted by it.
             * @example 0
             */
            sort: number;
            /** @description The instructions for the model, which callers put before the messages. */
            system_prompt?: string | null;
            /** @description `active`, `archived` or `deleted`. */
            lifecycle: components["schemas"]["Lifecycle"];
            lifecycle_at?: components["schemas"]["Time"] | null;
            /**
             * Format: int64
             * @description Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
             * @example 0
             */
            session_version: number;
            /** @description The user who made the last such change; null if a service did. */
            updated_by?: string | null;
        };
        /**
         * @description What a caller may do with a chat: fork it (`create`), read it (`read`), say something and answer questions (`say`), write what a workflow writes (`run`), record calls (`bill`), or change the chat itself and its members (`manage`).
         * @enum {string}
         */
        ChatPermission: "create" | "read" | "say" | "run" | "bill" | "manage";
        /** @description A chat session, without its messages, artifact and context snapshot. */
        ChatSession: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @example acme_corp */
            app_id: string;
            /** @example Generator */
            workflow_name: string;
            /**
             * @description The user that owns the chat.
             * @example user_alice_456
             */
            user_id?: string | null;
            /** @description The team that the chat is shared with. */
            team_id?: string | null;
            /** @description Who may read the chat: `app`, `team` or `private`. */
            visibility: components["schemas"]["Visibility"];
            /**
             * Format: int64
             * @description The seed for model caches; the same for the lifetime of the chat.
             * @example 2900028032
             */
            cache_seed: number;
            /** @description `running`, `paused`, `completed` or `failed`. */
            status: components["schemas"]["ChatStatus"];
            /** @description Why the chat was paused or failed. */
            status_reason?: string | null;
            title?: string | null;
            metadata: {
                [key: string]: unknown;
            };
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
            completed_at?: components["schemas"]["Time"] | null;
            /**
             * Format: double
             * @description Seconds from creation to the end; 0 until the chat has ended.
             * @example 0
             */
            duration_sec: number;
            /**
             * Format: int64
             * @description The number of messages ever appended, which is the sequence of the next one.
             * @example 15
             */
            last_sequence: number;
            /** @description The ids of the pending input requests, oldest first. */
            pending_inputs: string[];
            lease?: components["schemas"]["LeaseHolder"] | null;
            last_message_at?: components["schemas"]["Time"] | null;
            /**
             * @description The name in the message that was appended last, or its role if it has no name; null if an earlier release
             *     appended it.
             */
            last_speaker?: string | null;
            /** @description The model connector of the last turn or message that names one. */
            last_connector?: string | null;
            /** @description The mode of the last turn or message that names one. */
            last_mode?: string | null;
            last_turn?: components["schemas"]["LastTurn"] | null;
            forked_from?: components["schemas"]["ForkOrigin"] | null;
            /** @description The assistant that the chat talks to. */
            assistant_id?: string | null;
            /**
             * Format: int32
             * @description The place of the chat in lists that are sorted by it.
             * @example 0
             */
            sort: number;
            /** @description The instructions for the model, which callers put before the messages. */
            system_prompt?: string | null;
            /** @description `active`, `archived` or `deleted`. */
            lifecycle: components["schemas"]["Lifecycle"];
            lifecycle_at?: components["schemas"]["Time"] | null;
            /**
             * Format: int64
             * @description Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
             * @example 0
             */
            session_version: number;
            /** @description The user who made the last such change; null if a service did. */
            updated_by?: string | null;
        };
        /**
         * @description A change of a chat session. A missing field stays as it is; null clears it, except for `visibility`.
         * @example {
         *       "title": "A todo app"
         *     }
         */
        ChatSessionChange: {
            /** @description At most 512 characters. */
            title?: string | null;
            /** @description All of the metadata, at most 16 KiB; null is `{}`. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description Who may find and read the chat; `team` needs a `team_id`. Every chat has one, so it is not null. */
            visibility?: components["schemas"]["Visibility"];
            team_id?: components["schemas"]["Name"] | null;
            assistant_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int32
             * @description The place of the chat in lists that are sorted by it; null is 0.
             */
            sort?: number | null;
            /** @description The instructions for the model, which callers put before the messages; at most 16 KiB. */
            system_prompt?: string | null;
        };
        /** @description The duration and usage of a chat. */
        ChatStats: {
            /** @example chat_abc123def456 */
            chat_id: string;
            status?: components["schemas"]["ChatStatus"] | null;
            started_at: components["schemas"]["Time"];
            /**
             * Format: double
             * @description Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
             * @example 300
             */
            duration_sec: number;
            usage: components["schemas"]["Usage"];
        };
        /**
         * @description The status of a chat.
         * @enum {string}
         */
        ChatStatus: "running" | "paused" | "completed" | "failed";
        /**
         * @description One status of a chat or several, separated by commas.
         * @example running,paused
         */
        ChatStatuses: string;
        /** @description The sums of the runs of the tools of a chat. */
        ChatToolStatsResponse: components["schemas"]["ToolStats"] & {
            /** @example chat_abc123def456 */
            chat_id: string;
        };
        /** @description A chat session, and what the caller may do in the chat. */
        ChatWithPermissions: components["schemas"]["ChatSession"] & {
            /** @description What the caller may do in the chat, as far as its status and lifecycle allow it; only with `permissions=true`. */
            permissions?: components["schemas"]["ChatPermission"][] | null;
        };
        /** @description The signed state of the messages of a chat. */
        Checkpoint: {
            /**
             * Format: int64
             * @description How many commitments there are: one for each message, and one for each change of a message.
             * @example 312
             */
            commitments: number;
            /**
             * Format: int64
             * @description How many messages the chat had.
             * @example 300
             */
            messages: number;
            /**
             * Format: int64
             * @description The revision up to which changes of messages are signed.
             * @example 12
             */
            revision: number;
            /** @description The hash over all commitments: SHA-256, in hexadecimal digits. */
            root: string;
            signed_at: components["schemas"]["Time"];
            /** @description All of this, the app and the chat as a JSON Web Signature (RFC 7515) of Ed25519. */
            signed: string;
        };
        /** @description The checks that readiness consists of. */
        Checks: {
            /**
             * @description `ok`, `unavailable`, `starting` while the service fetches or starts its own database, or `not-a-replica-set` for a
             *     server that must become a replica set first.
             */
            store: components["schemas"]["StoreCheck"];
            /** @description How live chats learn of changes by other processes: `change_stream`, or `polling` if it cannot be opened. */
            live: components["schemas"]["LiveCheck"];
        };
        /** @description What a request has cleared. */
        ClearedMessages: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @description How many messages are deleted now, those that were deleted before included.
             * @example 12
             */
            deleted: number;
            /** @description Whether there are more: repeat the request. */
            has_more: boolean;
        };
        /**
         * @description The state in which a chat is completed.
         * @example {
         *       "context_snapshot": {
         *         "interview_complete": true
         *       }
         *     }
         */
        Completion: {
            /** @description The context snapshot to store first, which needs the permission `run`; at most 8 MiB. */
            context_snapshot?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description Tokens to debit.
         * @example {
         *       "app_id": "acme_corp",
         *       "amount": 300,
         *       "entry_id": "call_42"
         *     }
         */
        ConsumeRequest: {
            /** @description The app: 1 to 64 of `A-Z a-z 0-9 _ -`. */
            app_id: components["schemas"]["AppId"];
            /**
             * Format: int64
             * @description Whole tokens; 0 or less debits nothing.
             */
            amount: number;
            /** @description At most 256 characters; `manual_consume` by default. */
            reason?: string | null;
            entry_id?: components["schemas"]["Name"] | null;
        };
        /** @description The balance afterwards. */
        ConsumeResponse: {
            /** @example true */
            success: boolean;
            /**
             * Format: int64
             * @description Whole tokens.
             * @example 700
             */
            remaining: number;
            /**
             * @description The id of the wallet entry; null if nothing was debited.
             * @example call_42
             */
            entry_id?: string | null;
        };
        /**
         * @description Any content: bytes, or JSON as it was written.
         * @example {
         *       "step": 3
         *     }
         */
        Content: unknown;
        /** @description The difference between two versions of the context snapshot. */
        ContextDiffResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @example 2
             */
            from: number;
            /**
             * Format: int64
             * @example 3
             */
            to: number;
            /**
             * @description A JSON patch (RFC 6902) that turns `from` into `to`, of at most 16 MiB; empty if they are equal.
             * @example [
             *       {
             *         "op": "replace",
             *         "path": "/step",
             *         "value": 2
             *       }
             *     ]
             */
            patch: {
                [key: string]: unknown;
            }[];
        };
        /** @description The context snapshot of a chat. */
        ContextResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @description The chat's counter when the snapshot was written: it reflects the messages below this sequence.
             * @example 15
             */
            sequence: number;
            /**
             * @description The variables; empty if none were ever stored. Missing in the response to a write with
             *     `Prefer: return=minimal`.
             */
            context_snapshot?: {
                [key: string]: unknown;
            };
        };
        /** @description A version of the context snapshot, without its variables. */
        ContextVersion: {
            /**
             * Format: int64
             * @description The number of the version, from 1.
             * @example 3
             */
            version: number;
            /**
             * Format: int64
             * @description The chat's counter when the snapshot was written: it reflects the messages below this sequence.
             * @example 15
             */
            sequence: number;
            created_at: components["schemas"]["Time"];
            /**
             * Format: int64
             * @description The size of the variables, in bytes.
             * @example 64
             */
            bytes: number;
        };
        /**
         * @description A chat session to create.
         * @example {
         *       "workflow_name": "Generator",
         *       "user_id": "user_alice_456",
         *       "title": "A todo app"
         *     }
         */
        CreateChatRequest: {
            chat_id?: components["schemas"]["ChatId"] | null;
            workflow_name: components["schemas"]["Name"];
            user_id?: components["schemas"]["Name"] | null;
            team_id?: components["schemas"]["Name"] | null;
            visibility?: components["schemas"]["Visibility"] | null;
            /**
             * Format: int64
             * @description Derived from app and chat if missing.
             */
            cache_seed?: number | null;
            /** @description At most 512 characters. */
            title?: string | null;
            /** @description At most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            assistant_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int32
             * @description The place of the chat in lists that are sorted by it; 0 if missing.
             */
            sort?: number | null;
            /** @description The instructions for the model, which callers put before the messages; at most 16 KiB. */
            system_prompt?: string | null;
        };
        Created_Assistant: components["schemas"]["Assistant"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_ChangeResponse: components["schemas"]["ChangeResponse"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_ChatSession: components["schemas"]["ChatSession"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_InputRequest: components["schemas"]["InputRequest"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_Lease: components["schemas"]["Lease"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_Participant: components["schemas"]["Participant"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_Stream: components["schemas"]["Stream"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        Created_Wallet: components["schemas"]["Wallet"] & {
            /** @description Whether an earlier request with the same id has created it. */
            duplicate: boolean;
        };
        /**
         * @description Tokens to credit.
         * @example {
         *       "entry_id": "top_up_1",
         *       "amount": 1000,
         *       "reason": "monthly top-up"
         *     }
         */
        CreditRequest: {
            entry_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int64
             * @description Whole tokens.
             */
            amount: number;
            /** @description At most 256 characters. */
            reason?: string | null;
        };
        /**
         * @description Tokens to debit.
         * @example {
         *       "entry_id": "call_42",
         *       "amount": 300,
         *       "reason": "gpt-4o call"
         *     }
         */
        DebitRequest: {
            entry_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int64
             * @description Whole tokens.
             */
            amount: number;
            /** @description At most 256 characters. */
            reason?: string | null;
            /**
             * @description Whether a balance that is too low is refused; otherwise `entry` is null then.
             * @default true
             */
            strict?: boolean;
        };
        /** @description How many assistants were deleted. */
        DeletedAssistants: {
            /**
             * Format: int64
             * @example 2
             */
            deleted: number;
            /** @description Whether there may be more: repeat the request. */
            has_more: boolean;
        };
        /** @description How many documents were deleted. */
        DeletedDocuments: {
            /**
             * Format: int64
             * @example 2
             */
            deleted: number;
            /** @description Whether there may be more: repeat the request. */
            has_more: boolean;
        };
        /** @description A message that is deleted. */
        DeletedMessage: {
            /** @example evt_msg_001 */
            event_id: string;
            /**
             * Format: int64
             * @example 1
             */
            sequence: number;
        };
        /** @description What became of each id. */
        DeletedMessages: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description The messages that are deleted now, those that were deleted before included, in the order of the request. */
            deleted: components["schemas"]["DeletedMessage"][];
            /**
             * @description The ids that the chat does not have, in the order of the request.
             * @example [
             *       "evt_msg_002"
             *     ]
             */
            unknown: string[];
        };
        /**
         * @description How a delta is merged.
         * @enum {string}
         */
        DeltaAction: "append" | "replace";
        /**
         * @description A format of messages; docs/api/messages.md describes each.
         * @enum {string}
         */
        Dialect: "ag2" | "ag2-classic" | "ag2-classic-manager" | "ag2-v1" | "openai" | "openai-compatible" | "openai-responses" | "anthropic" | "claude-agent-sdk" | "bedrock-converse" | "gemini" | "gemini-vertex" | "langchain" | "pydantic-ai" | "google-adk" | "ui-message" | "ag-ui" | "acp" | "yao" | "otel-genai";
        /** @description What is known of a document besides its content. */
        Document: {
            /** @example acme_corp */
            app_id: string;
            /** @example notes/plan.md */
            path: string;
            /** @description The chat of the document; null if it is of none. */
            chat_id?: string | null;
            /** @description The user to whom the document belongs; null if it belongs to the app. */
            user_id?: string | null;
            /** @description Who may read a document of no chat, besides its owner. */
            visibility: components["schemas"]["Visibility"];
            /** @description The team that the document is shared with. */
            team_id?: string | null;
            /** @example text/markdown */
            content_type: string;
            /**
             * Format: int64
             * @description The size of the content, in bytes.
             * @example 2048
             */
            size: number;
            /**
             * Format: int64
             * @description Grows with every write, from 1.
             * @example 1
             */
            version: number;
            /**
             * @description The `ETag`, without quotation marks. What stands before its last `-` stays the same as long as the content only grows.
             * @example content_0198d4b27c1e7a3b9f552f6c1d0e8a41-1
             */
            entity_tag: string;
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
            expires_at?: components["schemas"]["Time"] | null;
        };
        /** @description The `data` of an event. */
        DocumentEvent: {
            path?: components["schemas"]["DocumentPath"] | null;
            /**
             * Format: int64
             * @description The version of a document that has changed, or a later one.
             * @example 3
             */
            version?: number | null;
        };
        /**
         * @description The path of a document within its app: 1 to 32 names of 1 to 256 bytes without control characters, separated by `/`, at most 1,024 bytes together. No name is `.` or `..`.
         * @example notes/plan.md
         */
        DocumentPath: string;
        /** @description A message that was dropped. */
        Dropped: {
            /**
             * Format: int64
             * @description The sequence of the message.
             */
            sequence?: number | null;
            /**
             * @description The reason, as a stable word.
             * @example unsupported_role
             */
            reason: string;
            /** @description The reason, as a sentence. */
            detail: string;
        };
        /** @description A chunk that is in no message. */
        DroppedChunk: {
            /**
             * Format: int64
             * @example 3
             */
            position: number;
            /** @example must be a string */
            detail: string;
        };
        /** @description A message of a turn that is not stored. */
        DroppedOfTurn: {
            /** @description The index in `messages`. */
            index: number;
            /**
             * @description The reason: `event` for messages that only control a stream.
             * @example event
             */
            reason: string;
        };
        /**
         * @description An object without fields.
         * @example {}
         */
        EmptyRequest: Record<string, never>;
        /** @description A stream that has ended, and the turn that it became. */
        EndedStream: {
            stream: components["schemas"]["Stream"];
            turn?: components["schemas"]["StreamTurn"] | null;
            /** @description The chunks that are none of the format of the stream, and are in no message. */
            dropped: components["schemas"]["DroppedChunk"][];
        };
        /**
         * @description The initial state of a new wallet.
         * @example {
         *       "initial_balance": 1000
         *     }
         */
        EnsureWalletRequest: {
            /**
             * Format: int64
             * @description Whole tokens.
             */
            initial_balance?: number;
        };
        /**
         * @description What changed the balance of a wallet.
         * @enum {string}
         */
        EntryKind: "initial" | "credit" | "debit";
        /** @description The erasure of a person from an app. It names the person by the pseudonym alone. */
        Erasure: {
            /** @example acme_corp */
            app_id: string;
            /** @description What stands for the person in the audit log; `erased_` and the pseudonym stands for their user id. */
            pseudonym: components["schemas"]["Pseudonym"];
            begun_at: components["schemas"]["Time"];
            finished_at?: components["schemas"]["Time"] | null;
            /**
             * Format: int64
             * @description How many chats were searched. Each is searched twice.
             */
            searched: number;
            /** @description How many records were erased or anonymised, by kind. */
            erased: {
                [key: string]: number;
            };
            /** @description The chats that were left as they are, because they are under hold or are shown by a fork that is. */
            held: components["schemas"]["ChatId"][];
            /** @description Where overwritten text stays for a while, and what ends that. */
            remains: string;
            /**
             * @description Once it is finished, this object without `signed`, as a JSON Web Signature (RFC 7515, in compact form, by Ed25519).
             *     Stays null if the service has no key for receipts: the receipt is unsigned.
             */
            signed: string | null;
        };
        /** @description The number of changes of status; a chat that was reopened and has ended again is counted twice. */
        Events: {
            /**
             * Format: int64
             * @example 2
             */
            starts: number;
            /**
             * Format: int64
             * @example 0
             */
            pauses: number;
            /**
             * Format: int64
             * @example 0
             */
            resumptions: number;
            /**
             * Format: int64
             * @example 2
             */
            completions: number;
            /**
             * Format: int64
             * @example 0
             */
            failures: number;
            /**
             * Format: int64
             * @example 0
             */
            reopens: number;
        };
        /** @description The result of an exchange. */
        ExchangeResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @description The chat's counter afterwards: the sequence of the next message.
             * @example 2
             */
            last_sequence: number;
            /** @description One for each message of the request, in order. */
            messages: components["schemas"]["Appended"][];
            call: components["schemas"]["RecordedCall"];
            payment?: components["schemas"]["Payment"] | null;
            /** @description What the caller should know although everything is stored; missing if there is nothing. */
            noted?: components["schemas"]["Noted"][];
        };
        /** @description A part of the request that was refused. */
        FieldError: {
            /**
             * @description JSON pointer (RFC 6901) into the body.
             * @example /messages/0/role
             */
            pointer?: string | null;
            /** @description Name of the path or query parameter. */
            parameter?: string | null;
            /** @description What is wrong with it, and the limit if there is one. */
            detail: string;
        };
        /** @description The source of a fork. */
        ForkOrigin: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * Format: int64
             * @description The number of messages shared with the source.
             * @example 12
             */
            sequence: number;
        };
        /**
         * @description A fork to create; its source is in the path.
         * @example {
         *       "sequence": 1,
         *       "title": "Another way"
         *     }
         */
        ForkRequest: {
            chat_id?: components["schemas"]["ChatId"] | null;
            /**
             * Format: int64
             * @description Messages with a sequence below this are shared with the fork; all messages if missing.
             */
            sequence?: number | null;
            /** @description At most 512 characters. */
            title?: string | null;
            /** @description At most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            user_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int64
             * @description Derived from app and chat if missing.
             */
            cache_seed?: number | null;
        };
        /** @description How many chats of a page are in a time group. */
        GroupCount: {
            group: components["schemas"]["TimeGroup"];
            /** @example 3 */
            count: number;
        };
        /** @description A chat under hold. */
        HeldChat: {
            /** @description The chat. */
            chat_id: components["schemas"]["ChatId"];
            /**
             * @description Why, for operators.
             * @example dispute 7
             */
            reason: string;
            /** @description When the hold began, or when its reason was changed. */
            since: components["schemas"]["Time"];
        };
        /** @description The last line. If it is missing, the response was aborted. */
        HistoryEnd: {
            /** @description Always true; no message has this field. */
            complete: boolean;
            /** @example chat_abc123def456 */
            chat_id: string;
            dialect: components["schemas"]["Dialect"];
            /**
             * Format: int64
             * @description The number of messages: the lines before this one.
             */
            message_count: number;
            /** @description The messages that do not fit the dialect. */
            dropped: components["schemas"]["Dropped"][];
            /**
             * Format: int64
             * @description The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
             * @example 15
             */
            last_sequence: number;
            /** @description The messages that were changed to fit the dialect; missing if there are none. */
            repaired?: components["schemas"]["Repaired"][];
            /** @description The original of each name that was replaced; missing if there are none. */
            names?: {
                [key: string]: string;
            };
            /** @description The original of each call id that was replaced; missing if there are none. */
            ids?: {
                [key: string]: string;
            };
            /** @description The system instructions, for dialects that keep them apart from the messages; missing if there are none. */
            system?: unknown[];
        };
        HistoryLine: components["schemas"]["HistoryMessage"] | components["schemas"]["HistoryEnd"];
        /** @description A message in the dialect; in `ag2` exactly `role`, `name` and `content`. */
        HistoryMessage: {
            /**
             * @description Not in every dialect.
             * @example assistant
             */
            role?: string;
        };
        /** @description A conversation in the dialect that an orchestrator resumes from. */
        HistoryResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            dialect: components["schemas"]["Dialect"];
            /**
             * @description The messages, oldest first; in `ag2` exactly `role`, `name` and `content`.
             * @example [
             *       {
             *         "role": "user",
             *         "name": "user",
             *         "content": "Create a todo app"
             *       }
             *     ]
             */
            messages: {
                [key: string]: unknown;
            }[];
            /** @description The messages that do not fit the dialect. */
            dropped: components["schemas"]["Dropped"][];
            /**
             * Format: int64
             * @description The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
             * @example 15
             */
            last_sequence: number;
            /** @description The messages that were changed to fit the dialect; missing if there are none. */
            repaired?: components["schemas"]["Repaired"][];
            /** @description The original of each name that was replaced; missing if there are none. */
            names?: {
                [key: string]: string;
            };
            /** @description The original of each call id that was replaced; missing if there are none. */
            ids?: {
                [key: string]: string;
            };
            /** @description The system instructions, for dialects that keep them apart from the messages; missing if there are none. */
            system?: unknown[];
        };
        /** @description A message that was found. */
        HitResponse: {
            /** @description The chat of the message. */
            chat_id: components["schemas"]["ChatId"];
            /** @description The title of the chat. */
            title?: string | null;
            /**
             * Format: int64
             * @description The position of the message in the chat.
             */
            sequence: number;
            /** @description The role of the message. */
            role: string;
            /** @description The name of the speaker. */
            name?: string | null;
            /** @description When the message was stored. */
            created_at: components["schemas"]["Time"];
            /** @description The part of the message that has the words, in one line. `…` stands for what is left out. */
            snippet: string;
            /** @description Where the snippet has the words: pairs of the first character and the one after the last, counted from 0. */
            positions: number[][];
        };
        /** @description A hold of a chat. */
        Hold: {
            /**
             * @description Why, for operators.
             * @example dispute 7
             */
            reason: string;
            /** @description When the hold began, or when its reason was changed. */
            since: components["schemas"]["Time"];
        };
        /** @description The statistics of each of the `hours`. */
        Hourly: {
            calls: number[];
            starts: number[];
            cost_micros_usd: number[];
        };
        /** @description The answer to an input request. */
        InputAnswer: {
            content: unknown;
            /**
             * @description The name of the person who answered, as given with the answer.
             * @example user_alice_456
             */
            name: string;
            author?: components["schemas"]["Author"] | null;
            /**
             * @description The id of the message that the answer became.
             * @example evt_msg_001
             */
            event_id: string;
            /**
             * Format: int64
             * @example 4
             */
            sequence: number;
        };
        /**
         * @description What counts as an answer: any content (`text`), one of the options (`choice`), or true or false (`confirm`).
         * @enum {string}
         */
        InputKind: "text" | "choice" | "confirm";
        /** @description A question that a workflow waits for, or has waited for. */
        InputRequest: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @example input_0198d4b2 */
            request_id: string;
            /** @description `pending`, `answered`, `cancelled`, `expired` or `chat_ended`. */
            state: components["schemas"]["InputState"];
            /**
             * @description The question as shown to people.
             * @example Which database?
             */
            prompt: string;
            /**
             * @description The agent that asks.
             * @example architect
             */
            agent?: string | null;
            /** @description What counts as an answer: `text`, `choice` or `confirm`. */
            kind: components["schemas"]["InputKind"];
            /**
             * @description The answers to choose from.
             * @example [
             *       "MongoDB",
             *       "SQLite"
             *     ]
             */
            options: string[];
            tool_call?: components["schemas"]["BoundToolCall"] | null;
            metadata: {
                [key: string]: unknown;
            };
            created_at: components["schemas"]["Time"];
            expires_at?: components["schemas"]["Time"] | null;
            closed_at?: components["schemas"]["Time"] | null;
            /** @description Why the request was cancelled, or how the chat ended. */
            reason?: string | null;
            answer?: components["schemas"]["InputAnswer"] | null;
        };
        /**
         * @description The state of an input request.
         * @enum {string}
         */
        InputState: "pending" | "answered" | "cancelled" | "expired" | "chat_ended";
        /** @description System instructions in any form that a provider takes. */
        Instructions: unknown[] | string | {
            [key: string]: unknown;
        };
        /**
         * @description Why a chat is paused or fails, and what it resumes from.
         * @example {
         *       "reason": "waits for the user"
         *     }
         */
        Interruption: {
            /** @description At most 1,000 characters. */
            reason?: string | null;
            /** @description The context snapshot to store first, which needs the permission `run`; at most 8 MiB. */
            context_snapshot?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description One version of the context snapshot. */
        KeptContextResponse: components["schemas"]["ContextVersion"] & {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description The variables. */
            context_snapshot: {
                [key: string]: unknown;
            };
        };
        /** @description A stored turn. */
        LastTurn: {
            /** @example req_abc */
            request_id: string;
            /** @description `completed`, `interrupted` or `failed`. */
            outcome: components["schemas"]["TurnOutcome"];
            /**
             * Format: int64
             * @description The number of the turn in the chat, from 1.
             * @example 1
             */
            turn: number;
        };
        /** @description A lease, for its owner. */
        Lease: components["schemas"]["LeaseHolder"] & {
            /**
             * @description The idempotency key of the acquisition.
             * @example lease_0198d4b2
             */
            lease_id: string;
            /**
             * Format: int64
             * @description The token that the owner sends with its writes, in the header `Fencing-Token`.
             * @example 3
             */
            fencing_token: number;
        };
        /** @description The holder of a lease. */
        LeaseHolder: {
            /** @example orchestrator-7 */
            owner: string;
            acquired_at: components["schemas"]["Time"];
            /** @description When the lease expires: from then on another owner can acquire it. */
            expires_at: components["schemas"]["Time"];
        };
        /**
         * @description A renewal of a lease.
         * @example {
         *       "ttl_ms": 30000
         *     }
         */
        LeaseRenewal: {
            /**
             * Format: int64
             * @description How long the lease is valid from now on, in milliseconds.
             * @default 30000
             */
            ttl_ms?: number;
        };
        /** @description The lease of a chat. */
        LeaseState: {
            /** @example chat_abc123def456 */
            chat_id: string;
            lease?: components["schemas"]["LeaseHolder"] | null;
        };
        /**
         * @description Whether a chat is in use (`active`), put aside (`archived`), or gone for its callers (`deleted`).
         * @enum {string}
         */
        Lifecycle: "active" | "archived" | "deleted";
        /**
         * @description `all`, or one lifecycle of a chat or several, separated by commas.
         * @example active,archived
         */
        Lifecycles: string;
        /** @description A page of apps with statistics. */
        ListAppStatsResponse: {
            /** @description The apps of the page that the token names; a page may be empty without being the last. */
            apps: components["schemas"]["AppSummary"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor?: string | null;
        };
        /** @description A page of a chat's calls, and the usage of all of its calls. */
        ListCallsResponse: components["schemas"]["Page_ProviderCall"] & {
            /** @description The usage of all calls of the chat, not only of those on the page. */
            usage: components["schemas"]["Usage"];
        };
        /** @description A page of a workflow's chats. */
        ListChatStatsResponse: {
            chats: components["schemas"]["ChatStats"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor?: string | null;
        };
        /** @description A page of chat sessions, and how many the whole list has if the request asks for it. */
        ListChatsResponse: components["schemas"]["Page_ListedChat"] & {
            /** @description How many chats of the page are in each time group, the latest group first; only with `group_by`. */
            time_groups?: components["schemas"]["GroupCount"][] | null;
            /** @description The number of chats in the whole list, if it is at most 10,000. */
            total?: number | null;
            /** @description 10,000, if the list has more chats. */
            total_is_at_least?: number | null;
        };
        /** @description Consecutive messages. */
        ListMessagesResponse: components["schemas"]["Page_Message"] & {
            /**
             * Format: int64
             * @description The chat's counter: the sequence of the next message.
             * @example 15
             */
            last_sequence: number;
        };
        /** @description A page of users. */
        ListUserStatsResponse: {
            users: components["schemas"]["UserUsage"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor?: string | null;
        };
        /** @description A chat session in a list. */
        ListedChat: components["schemas"]["ChatSession"] & {
            time_group?: components["schemas"]["TimeGroup"] | null;
            call_summary?: components["schemas"]["CallSummary"] | null;
        };
        /** @description A document of a list. */
        ListedDocument: components["schemas"]["Document"] & {
            content?: components["schemas"]["Content"] | null;
            /** @description The content in base64, if it is not such JSON, was asked for and has at most 1 MiB. */
            content_base64?: string | null;
        };
        ListenEvent: components["schemas"]["Message"] | components["schemas"]["CaughtUp"] | components["schemas"]["InputRequest"] | components["schemas"]["StatusChanged"] | components["schemas"]["VersionChanged"] | components["schemas"]["Presence"] | components["schemas"]["Usage"] | components["schemas"]["Stream"] | components["schemas"]["StreamChunk"];
        /**
         * @description How live chats learn of changes by other processes; by polling if the database has no change stream.
         * @enum {string}
         */
        LiveCheck: "change_stream" | "polling";
        /** @description The liveness of the process. */
        LiveResponse: {
            /** @example ok */
            status: string;
        };
        /** @description A member of a chat. */
        Member: {
            /** @example user_bob_789 */
            user_id: string;
            /** @description `member` (may read and say) or `reader` (may read). */
            role: components["schemas"]["MemberRole"];
        };
        /**
         * @description What a member may do: read and say (`member`), or read (`reader`).
         * @enum {string}
         */
        MemberRole: "member" | "reader";
        /** @description A message, with those of the optional fields `tool_calls`, `tool_call_id`, … that it has. */
        Message: {
            /**
             * Format: int64
             * @description The position in the chat, from 0, without gaps.
             * @example 1
             */
            sequence: number;
            /** @example evt_msg_001 */
            event_id: string;
            /** @example assistant */
            role: string;
            /**
             * @description The speaker.
             * @example interviewer
             */
            name?: string | null;
            /** @description Any JSON value, mostly text. */
            content: unknown;
            /**
             * @description The caller's own time; the time of storing if none was given.
             * @example 2025-10-02T10:00:05.000Z
             */
            timestamp: string;
            created_at: components["schemas"]["Time"];
            metadata?: {
                [key: string]: unknown;
            } | null;
            author?: components["schemas"]["Author"] | null;
            edited_at?: components["schemas"]["Time"] | null;
            /**
             * @description The person who last edited the message; missing if a service did.
             * @example user_alice_456
             */
            edited_by?: string | null;
            deleted_at?: components["schemas"]["Time"] | null;
            /**
             * @description The person who deleted the message; missing if a service did.
             * @example user_alice_456
             */
            deleted_by?: string | null;
            /**
             * @description True while the text of this deleted message is still stored, because another chat (a fork, or the source of this one)
             *     shares the message and has not deleted it; otherwise missing.
             */
            text_is_kept?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description An edit of a message, with at least one field. Missing fields are not changed; a null field counts as missing, except
         *     `content`.
         * @example {
         *       "content": "What should the app do?"
         *     }
         */
        MessageEdit: {
            /** @description The new content; null is a value too. */
            content?: unknown;
            /** @description The new speaker. */
            name?: string | null;
            /** @description The new metadata, which replaces all of the old. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The new properties, which replace all of the old. */
            props?: unknown;
            type?: components["schemas"]["Name"] | null;
        };
        /** @description What leads from a message to the root of a checkpoint. Hashes are SHA-256 in hexadecimal digits. */
        MessageInclusion: {
            /** @description The message as JSON, as it was committed to. The commitment is the hash of the salt and of this text. */
            statement: string;
            /** @description 16 random bytes in hexadecimal digits. */
            salt: string;
            /**
             * Format: int32
             * @description How often the message was changed.
             * @example 0
             */
            changes: number;
            /**
             * Format: int64
             * @description The place of the commitment in its block.
             * @example 5
             */
            index: number;
            /**
             * Format: int64
             * @description How many commitments the block has.
             * @example 256
             */
            block_size: number;
            /** @description The hashes beside the way from the commitment to the root of its block (RFC 9162, section 2.1.3). */
            path: string[];
            /** @description The hash of the chain before the block. */
            before: string;
            /** @description The roots of the blocks behind it. */
            after: string[];
        };
        /** @description Whether a message is what was signed. */
        MessageProof: {
            /** @description `signed`, `unsigned` or `broken`. */
            verdict: components["schemas"]["Verdict"];
            checkpoint?: components["schemas"]["Checkpoint"] | null;
            inclusion?: components["schemas"]["MessageInclusion"] | null;
        };
        /**
         * @description The messages to delete.
         * @example {
         *       "event_ids": [
         *         "evt_msg_001",
         *         "evt_msg_002"
         *       ]
         *     }
         */
        MessagesToDelete: {
            /** @description The ids of at most 100 messages. */
            event_ids: components["schemas"]["Name"][];
        };
        /**
         * @description Different top-level keys of the metadata of chats, at most 8.
         * @example [
         *       "customer"
         *     ]
         */
        MetadataKeys: string[];
        /** @description The usage and the percentiles of the calls of a model. */
        ModelStats: {
            /** @example anthropic */
            provider?: string | null;
            /** @example claude-sonnet-4 */
            model?: string | null;
            usage: components["schemas"]["Usage"];
            percentiles: {
                [key: string]: components["schemas"]["Percentiles"];
            };
        };
        /** @description The usage of the models of an app. */
        ModelStatsResponse: {
            models: components["schemas"]["ModelUsage"][];
            /** @description Whether there are more than the limit. */
            has_more: boolean;
        };
        /** @description The usage of a model. */
        ModelUsage: {
            /** @example anthropic */
            provider?: string | null;
            /** @example claude-sonnet-4 */
            model?: string | null;
            usage: components["schemas"]["Usage"];
            /** @description The usage by the asked step. */
            points?: components["schemas"]["UsagePoint"][] | null;
        };
        /**
         * @description An id or a name: 1 to 128 visible characters, without blanks at its ends.
         * @example user_alice_456
         */
        Name: string;
        /** @description A namespace that has documents. */
        Namespace: {
            /** @example notes */
            namespace: string;
        };
        /**
         * @description An artifact to store; strings of at most 256 characters.
         * @example {
         *       "ui_tool_id": "code_editor",
         *       "event_id": "evt_xyz789",
         *       "display": "artifact",
         *       "workflow_name": "Generator",
         *       "payload": {
         *         "language": "python",
         *         "code": "print('Hello')"
         *       }
         *     }
         */
        NewArtifact: {
            /** @description The UI tool that shows it. */
            ui_tool_id?: string | null;
            /** @description The event that produced it. */
            event_id?: string | null;
            /** @description The place in the user interface. */
            display?: string | null;
            /** @description The workflow that produced it. */
            workflow_name?: string | null;
            /** @description The data that the tool shows, at most 8 MiB. */
            payload?: unknown;
            updated_at?: components["schemas"]["Time"] | null;
        };
        /**
         * @description An assistant to store. What is missing gets its default, except for the owner.
         * @example {
         *       "name": "Weather Assistant",
         *       "description": "Get weather information for any location",
         *       "tags": [
         *         "weather"
         *       ],
         *       "connector": "deepseek.v3",
         *       "visibility": "app",
         *       "locales": {
         *         "de": {
         *           "name": "Wetter"
         *         }
         *       },
         *       "config": {
         *         "temperature": 0.5
         *       }
         *     }
         */
        NewAssistant: {
            user_id?: components["schemas"]["Name"] | null;
            /** @description 1 to 512 characters. */
            name: string;
            type?: components["schemas"]["Name"] | null;
            /** @description The address or the data of a picture, at most 64 KiB. */
            avatar?: string | null;
            /** @description At most 64 KiB. */
            description?: string | null;
            connector?: components["schemas"]["Name"] | null;
            /** @description At most 64; none means every mode. */
            modes?: components["schemas"]["Name"][];
            default_mode?: components["schemas"]["Name"] | null;
            /** @description At most 64. */
            tags?: components["schemas"]["Name"][];
            /** Format: int32 */
            sort?: number;
            mentionable?: boolean;
            automated?: boolean;
            built_in?: boolean;
            /** @description Who may find and read the assistant, besides its owner; `private` by default. `team` needs a `team_id`. */
            visibility?: components["schemas"]["Visibility"];
            team_id?: components["schemas"]["Name"] | null;
            /** @description An object of texts for each language tag, at most 64 KiB. */
            locales?: {
                [key: string]: unknown;
            };
            /** @description Any settings, at most 256 KiB. */
            config?: {
                [key: string]: unknown;
            };
        };
        /** @description The person who wrote a message. */
        NewAuthor: {
            user_id: components["schemas"]["Name"];
            display_name?: components["schemas"]["Name"] | null;
        };
        /** @description A tool call. */
        NewBoundToolCall: {
            /** @description The id that the model gave. */
            id: string;
            /** @description The name of the tool. */
            name: string;
            /** @description The arguments, at most 256 KiB. */
            arguments?: unknown;
        };
        /**
         * @description Chunks to add to a stream.
         * @example {
         *       "from": 0,
         *       "chunks": [
         *         "The data ",
         *         "shows"
         *       ]
         *     }
         */
        NewChunks: {
            /**
             * Format: int64
             * @description The position of the first of these chunks. It is the number of chunks before it.
             */
            from: number;
            /**
             * @description At most 1,000 chunks, together at most 1 MiB: chunks of the AI SDK, updates of ACP, or texts. None says that the agent is
             *     still there; a stream that nothing is written to for 30 s counts as stalled.
             */
            chunks: components["schemas"]["Content"][];
        };
        /**
         * @description The person to erase.
         * @example {
         *       "user_id": "user_alice_456"
         *     }
         */
        NewErasure: {
            user_id: components["schemas"]["Name"];
        };
        /**
         * @description Messages to append, and the call that produced the assistant's messages.
         * @example {
         *       "messages": [
         *         {
         *           "event_id": "evt_msg_001",
         *           "role": "assistant",
         *           "name": "planner",
         *           "content": "The park."
         *         }
         *       ],
         *       "call": {
         *         "call_id": "call_0198d4b2",
         *         "agent": "planner",
         *         "prompt_tokens": 812,
         *         "completion_tokens": 9
         *       }
         *     }
         */
        NewExchange: {
            /** @description 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB. */
            messages: components["schemas"]["NewMessage"][];
            /** @description Its `call_id` is the idempotency key of the exchange. */
            call: components["schemas"]["NewProviderCall"];
        };
        /**
         * @description Why a chat is put under hold.
         * @example {
         *       "reason": "dispute 7"
         *     }
         */
        NewHold: {
            /** @description For operators, at most 1,000 characters. */
            reason: string;
        };
        /**
         * @description An answer to an input request.
         * @example {
         *       "event_id": "evt_answer_1",
         *       "content": "MongoDB"
         *     }
         */
        NewInputAnswer: {
            event_id?: components["schemas"]["Name"] | null;
            /** @description The name of the person who answers; the caller if missing. */
            name?: string | null;
            author?: components["schemas"]["NewAuthor"] | null;
            /** @description The answer; its type depends on the kind of the question. */
            content: unknown;
            tool_call?: components["schemas"]["ToolCallRef"] | null;
        };
        /**
         * @description A question to ask.
         * @example {
         *       "prompt": "Which database?",
         *       "agent": "architect",
         *       "kind": "choice",
         *       "options": [
         *         "MongoDB",
         *         "SQLite"
         *       ],
         *       "expires_in_sec": 3600
         *     }
         */
        NewInputRequest: {
            request_id?: components["schemas"]["Name"] | null;
            /** @description The question as shown to people, at most 16 KiB. */
            prompt: string;
            /** @description The agent that asks. */
            agent?: string | null;
            /**
             * @description What counts as an answer: any content (`text`), one of the options (`choice`), or true or false
             *     (`confirm`).
             */
            kind?: components["schemas"]["InputKind"];
            /** @description With `choice`: 1 to 64 texts of at most 1 KiB. */
            options?: string[];
            tool_call?: components["schemas"]["NewBoundToolCall"] | null;
            /** @description Data of the caller that is stored with the request, at most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Format: int32
             * @description After how many seconds the request expires, at most 30 days; by default it never expires.
             */
            expires_in_sec?: number | null;
        };
        /**
         * @description A lease to acquire.
         * @example {
         *       "owner": "orchestrator-7",
         *       "ttl_ms": 30000
         *     }
         */
        NewLease: {
            lease_id?: components["schemas"]["Name"] | null;
            /** @description The owner, such as one process of an orchestrator: 1 to 128 characters. */
            owner: components["schemas"]["Name"];
            /**
             * Format: int64
             * @description How long the lease is valid without a renewal, in milliseconds.
             * @default 30000
             */
            ttl_ms?: number;
        };
        /**
         * @description What a member may do.
         * @example {
         *       "role": "reader"
         *     }
         */
        NewMember: {
            role?: components["schemas"]["MemberRole"];
        };
        /**
         * @description A message to append. A null field counts as missing, except `content`. Any other field is kept in `provider`, for the
         *     dialect `openai`, and told in `noted`.
         * @example {
         *       "event_id": "evt_msg_001",
         *       "role": "assistant",
         *       "name": "interviewer",
         *       "content": "What features should it include?",
         *       "timestamp": "2025-10-02T10:00:05.000Z"
         *     }
         */
        NewMessage: {
            event_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int64
             * @description Where the caller believes that the message is. The chat gives the positions; a difference is told in `noted`.
             */
            sequence?: number | null;
            /**
             * Format: int64
             * @description Beside a single message: append it only if the chat has this `last_sequence`.
             */
            expected_last_sequence?: number | null;
            role?: components["schemas"]["Name"] | null;
            /** @description The speaker. */
            name?: string | null;
            /** @description An alternative to `name`. */
            agent_name?: string | null;
            /**
             * @description Any JSON value, mostly text. Required unless the message has `content_blocks`, `function_call`, `props`, `refusal`,
             *     `tool_calls` or `tool_responses`.
             */
            content?: unknown;
            /** @description The caller's own time, stored as given, at most 64 characters. */
            timestamp?: string | null;
            /** @description Data of the caller that is stored with the message. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            author?: components["schemas"]["NewAuthor"] | null;
            assistant_id?: components["schemas"]["Name"] | null;
            block_id?: components["schemas"]["Name"] | null;
            connector?: components["schemas"]["Name"] | null;
            /**
             * @description The content as the blocks of Anthropic: histories take from them the reasoning with its signatures, and the content
             *     if `content` is missing or the same text.
             */
            content_blocks?: unknown;
            event_type?: unknown;
            function_call?: unknown;
            is_user_proxy?: unknown;
            message_id?: components["schemas"]["Name"] | null;
            mode?: components["schemas"]["Name"] | null;
            produced_by_call_id?: components["schemas"]["Name"] | null;
            /** @description The properties of the message for a user interface, mostly an object. */
            props?: unknown;
            reasoning_content?: unknown;
            refusal?: unknown;
            structured_output?: unknown;
            structured_schema?: unknown;
            thread_id?: components["schemas"]["Name"] | null;
            tool_call_id?: unknown;
            tool_calls?: unknown;
            /**
             * @description Beside a result: whether, or how, the call failed. Histories give the result as failed unless it is false or an empty
             *     text.
             */
            tool_error?: unknown;
            tool_responses?: unknown;
            type?: components["schemas"]["Name"] | null;
            /** @description What the message came with besides these fields, by dialect. */
            provider?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Several messages to append atomically. */
        NewMessages: {
            /** @description 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB. */
            messages: components["schemas"]["NewMessage"][];
            /**
             * Format: int64
             * @description Append them only if the chat has this `last_sequence`.
             */
            expected_last_sequence?: number | null;
        };
        /**
         * @description The user who joins: the caller, or the user that a service names.
         * @example {
         *       "user_id": "user_alice_456",
         *       "display_name": "Alice"
         *     }
         */
        NewParticipant: {
            user_id?: components["schemas"]["Name"] | null;
            display_name?: components["schemas"]["Name"] | null;
        };
        /**
         * @description A call to record; names of at most 128 characters, numbers of at most 1,000,000,000.
         * @example {
         *       "call_id": "call_0198d4b2",
         *       "agent": "interviewer",
         *       "requested_provider": "anthropic",
         *       "requested_model": "claude-sonnet-4",
         *       "prompt_tokens": 12,
         *       "completion_tokens": 4,
         *       "cost_usd": "0.001234",
         *       "duration_ms": 850
         *     }
         */
        NewProviderCall: {
            call_id?: components["schemas"]["Name"] | null;
            /** @description The agent that made the call. */
            agent?: string | null;
            /** @description The requested provider. */
            requested_provider?: string | null;
            /** @description The requested model. */
            requested_model?: string | null;
            /** @description The provider that answered. If both this and `model` are missing, the requested ones are assumed. */
            provider?: string | null;
            /** @description The model that answered. */
            model?: string | null;
            /** @description The kind of the provider that answered, such as `cloud`. */
            provider_kind?: string | null;
            /** Format: int64 */
            prompt_tokens?: number;
            /** Format: int64 */
            completion_tokens?: number;
            /**
             * Format: int64
             * @description At least `prompt_tokens` + `completion_tokens`, which is the default.
             */
            total_tokens?: number | null;
            /**
             * Format: int64
             * @description The cost in millionths of a US dollar, at most a million dollars; 0 if missing.
             */
            cost_micros_usd?: number | null;
            /**
             * @description The cost in US dollars, with at most six decimals; an alternative to `cost_micros_usd`.
             * @example 0.001234
             */
            cost_usd?: string | null;
            /**
             * Format: int64
             * @description The duration, in milliseconds.
             */
            duration_ms?: number;
            /** @description The request id that the provider or gateway assigned. */
            request_id?: string | null;
            called_at?: components["schemas"]["Time"] | null;
        };
        /** @description Several calls to record atomically. */
        NewProviderCalls: {
            /** @description 1 to 1,000 calls. */
            calls: components["schemas"]["NewProviderCall"][];
        };
        /**
         * @description Which tokens are revoked.
         * @example {
         *       "issued_until": "2025-10-02T10:00:00Z"
         *     }
         */
        NewRevocation: {
            issued_until?: components["schemas"]["Time"] | null;
        };
        /** @description A step of a turn. */
        NewStep: {
            type: components["schemas"]["StepType"];
            /** @description A `running` step gets the outcome of its turn. */
            status: components["schemas"]["StepStatus"];
            /** @description The assistant that runs the step. */
            assistant_id?: string | null;
            /** @description The call in the call stack that the step belongs to. */
            stack_id: components["schemas"]["Name"];
            stack_parent_id?: components["schemas"]["Name"] | null;
            /**
             * Format: int32
             * @description The depth of that call: 0 for the outermost.
             */
            stack_depth?: number;
            /** @description The input of the step. */
            input?: {
                [key: string]: unknown;
            } | null;
            /** @description The output of the step so far. */
            output?: {
                [key: string]: unknown;
            } | null;
            /** @description The shared space at the start of the step. */
            space_snapshot?: {
                [key: string]: unknown;
            };
            /** @description The error message, at most 16 KiB. */
            error?: string | null;
            /** @description Data of the caller that is stored with the step. */
            metadata?: {
                [key: string]: unknown;
            };
        };
        /**
         * @description A stream to start.
         * @example {
         *       "format": "ui_message",
         *       "agent": "writer"
         *     }
         */
        NewStream: {
            stream_id?: components["schemas"]["ChatId"] | null;
            format: components["schemas"]["StreamFormat"];
            agent?: components["schemas"]["Name"] | null;
            request_id?: components["schemas"]["Name"] | null;
        };
        /**
         * @description The user for whom a ticket is: the caller, or the user that a service names.
         * @example {
         *       "user_id": "user_alice_456"
         *     }
         */
        NewTicket: {
            user_id?: components["schemas"]["Name"] | null;
            team_id?: components["schemas"]["Name"] | null;
            /**
             * @description What the connection may use of the permissions of that user: `["read"]`, or `["read", "say"]`. All of them if
             *     missing.
             */
            permissions?: components["schemas"]["TicketPermission"][] | null;
        };
        /**
         * @description A run of a tool to record.
         * @example {
         *       "run_id": "run_0198d4b2",
         *       "tool_name": "WebSearch",
         *       "agent": "researcher",
         *       "parameters": {
         *         "query": "todo apps"
         *       },
         *       "result": {
         *         "hits": 3
         *       },
         *       "execution_time_ms": 250
         *     }
         */
        NewToolRun: {
            run_id?: components["schemas"]["Name"] | null;
            /** @description The tool. */
            tool_name: components["schemas"]["Name"];
            agent?: components["schemas"]["Name"] | null;
            tool_call_id?: components["schemas"]["Name"] | null;
            /** @description What the tool was given, at most 256 KiB. */
            parameters?: unknown;
            /** @description What the tool returned, at most 256 KiB. */
            result?: unknown;
            /** @description Whether the tool succeeded; by default whether it has no `error`. */
            is_success?: boolean | null;
            /** @description Why the tool failed, at most 16 KiB. */
            error?: string | null;
            /**
             * Format: int64
             * @description The duration, in milliseconds.
             */
            execution_time_ms?: number | null;
            /** @description Any data about the run, at most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            };
            started_at?: components["schemas"]["Time"] | null;
        };
        /** @description Several runs of tools to record atomically. */
        NewToolRuns: {
            /** @description 1 to 1,000 runs, of 8 MiB together. */
            runs: components["schemas"]["NewToolRun"][];
        };
        /**
         * @description A transcript in a dialect, to append atomically.
         * @example {
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "Which features should it include?"
         *         }
         *       ]
         *     }
         */
        NewTranscript: {
            /**
             * @description The messages in the dialect: at most 1,000, of at most 4 MiB each, together at most 8 MiB. `acp` and
             *     `ag2-v1` may have 50,000 items, because several of them make one message; the limit of 1,000 then holds
             *     for the messages stored.
             */
            messages: {
                [key: string]: unknown;
            }[];
            system?: components["schemas"]["Instructions"] | null;
            request_id?: components["schemas"]["Name"] | null;
        };
        /**
         * @description A finished turn.
         * @example {
         *       "request_id": "req_abc",
         *       "outcome": "interrupted",
         *       "connector": "deepseek.v3",
         *       "messages": [
         *         {
         *           "role": "user",
         *           "name": "user",
         *           "content": "Analyze this data"
         *         }
         *       ],
         *       "steps": [
         *         {
         *           "type": "llm",
         *           "status": "running",
         *           "assistant_id": "analyzer",
         *           "stack_id": "stk_001",
         *           "input": {
         *             "messages": []
         *           }
         *         }
         *       ]
         *     }
         */
        NewTurn: {
            request_id?: components["schemas"]["Name"] | null;
            outcome: components["schemas"]["TurnOutcome"];
            /** @description The model connector that was used last. */
            connector?: string | null;
            /** @description The mode of the turn, such as `chat` or `task`. */
            mode?: string | null;
            /**
             * @description At most 10,000 messages, together at most 64 MiB, in order. A message may have a `message_id` that is
             *     unique within the turn, and be followed by deltas.
             */
            messages?: components["schemas"]["TurnMessage"][];
            /** @description At most 1,000 steps, together at most 8 MiB, in the order in which they started. */
            steps?: components["schemas"]["NewStep"][];
        };
        /** @description Something that the caller should know of a message although it is stored. */
        Noted: {
            /** @description The index of the message in the request. */
            index: number;
            /**
             * @description The rule that the message breaks, as a stable word.
             * @example unanswered_call
             */
            rule: string;
            /** @description How it breaks the rule, as a sentence. */
            detail: string;
        };
        OneOrSeveralNewMessages: components["schemas"]["NewMessage"] | components["schemas"]["NewMessages"];
        /** @description One call, or several in `calls`. */
        OneOrSeveralNewProviderCalls: components["schemas"]["NewProviderCall"] | components["schemas"]["NewProviderCalls"];
        /** @description One run, or several in `runs`. */
        OneOrSeveralNewToolRuns: components["schemas"]["NewToolRun"] | components["schemas"]["NewToolRuns"];
        /** @description Averages: durations over the chats that have ended, all others over all chats. */
        OverallAvg: {
            /**
             * Format: double
             * @example 245.5
             */
            avg_duration_sec: number;
            /**
             * Format: int64
             * @description Whole tokens, rounded down, like the other two.
             * @example 3200
             */
            avg_prompt_tokens: number;
            /**
             * Format: int64
             * @example 1500
             */
            avg_completion_tokens: number;
            /**
             * Format: int64
             * @example 4700
             */
            avg_total_tokens: number;
            /**
             * Format: double
             * @example 0.15
             */
            avg_cost_total_usd: number;
        };
        /** @description A page of a list. */
        Page_App: {
            data: components["schemas"]["App"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_Assistant: {
            data: components["schemas"]["Assistant"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ContextVersion: {
            data: components["schemas"]["ContextVersion"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_HeldChat: {
            data: components["schemas"]["HeldChat"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_HitResponse: {
            data: components["schemas"]["HitResponse"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_InputRequest: {
            data: components["schemas"]["InputRequest"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ListedChat: {
            data: components["schemas"]["ListedChat"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ListedDocument: {
            data: components["schemas"]["ListedDocument"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_Member: {
            data: components["schemas"]["Member"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_Message: {
            data: components["schemas"]["Message"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_Namespace: {
            data: components["schemas"]["Namespace"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_Participant: {
            data: components["schemas"]["Participant"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_PendingInputRequest: {
            data: components["schemas"]["PendingInputRequest"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ProviderCall: {
            data: components["schemas"]["ProviderCall"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ResumePoint: {
            data: components["schemas"]["ResumePoint"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_ToolRun: {
            data: components["schemas"]["ToolRun"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        Page_WalletEntry: {
            data: components["schemas"]["WalletEntry"][];
            /** @description The cursor of the next page; null on the last page. */
            next_cursor: string | null;
        };
        /** @description A participant of a chat. */
        Participant: {
            /** @example user_alice_456 */
            user_id: string;
            /**
             * @description The display name, if one was given.
             * @example Alice
             */
            display_name?: string | null;
            joined_at: components["schemas"]["Time"];
        };
        /** @description The payment for calls from the wallet of the chat's user. */
        Payment: {
            /**
             * @description Whether the balance was sufficient. If not, nothing was debited and the chat is paused.
             * @example true
             */
            is_paid: boolean;
            /**
             * Format: int64
             * @description The tokens that the calls used.
             * @example 16
             */
            amount: number;
            /**
             * Format: int64
             * @description The balance of the wallet afterwards.
             * @example 984
             */
            balance: number;
            /**
             * @description The id of the wallet entry; null if nothing was debited.
             * @example recording_0198d4b2
             */
            entry_id?: string | null;
        };
        /** @description A tool call without a result. */
        PendingCall: {
            /**
             * Format: int64
             * @description The sequence of the message with the call.
             */
            sequence: number;
            /**
             * @description The speaker of that message.
             * @example analyzer
             */
            speaker?: string | null;
            /**
             * @description Null for calls in the older `function_call` format, which have no id.
             * @example call_1
             */
            call_id?: string | null;
            /** @example search */
            name: string;
            /** @description The arguments as stored, mostly the text of a JSON object. */
            arguments: unknown;
        };
        /** @description A pending input request, and what the caller may do with its chat. */
        PendingInputRequest: components["schemas"]["InputRequest"] & {
            /** @description What the caller may do with the chat, as far as its status allows it; only with `permissions=true`. */
            permissions?: components["schemas"]["ChatPermission"][] | null;
        };
        /** @description Percentiles of a distribution, with an error of at most 1/32; null if it is empty. */
        Percentiles: {
            /**
             * Format: int64
             * @example 2
             */
            count: number;
            /**
             * Format: int64
             * @example 4352
             */
            p50?: number | null;
            /**
             * Format: int64
             * @example 5120
             */
            p95?: number | null;
            /**
             * Format: int64
             * @example 5120
             */
            p99?: number | null;
        };
        /**
         * @description What a person is in the service.
         * @enum {string}
         */
        PersonRole: "user" | "support" | "operator";
        /** @description The statistics of an hour or a day. */
        Point: components["schemas"]["Events"] & {
            /** @description The start of the step. */
            at: components["schemas"]["Time"];
            usage: components["schemas"]["Usage"];
            /** @description Percentiles of the calls made, and of the chats ended, in this step. */
            percentiles: {
                [key: string]: components["schemas"]["Percentiles"];
            };
        };
        /** @description The persons who are present in a chat: those with an open stream. */
        Presence: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description The persons, longest presence first; at most 200. */
            present: components["schemas"]["Present"][];
            /**
             * Format: int64
             * @description The number of all persons who are present.
             * @example 1
             */
            count: number;
        };
        /** @description A person who is present. */
        Present: {
            /** @example user_alice_456 */
            user_id: string;
            /**
             * @description The display name, if the person is a participant and has one.
             * @example Alice
             */
            display_name?: string | null;
            since: components["schemas"]["Time"];
            /**
             * Format: int64
             * @description The number of open connections.
             * @example 1
             */
            connections: number;
        };
        /** @description A problem document (RFC 9457). */
        Problem: {
            /**
             * @description The kind of problem: the address of a page about it, relative to that of the service.
             * @example /problems/event-conflict
             */
            type: string;
            /** @description The kind of problem: the last part of `type`, which never changes. */
            code: components["schemas"]["ProblemCode"];
            /** @description The kind of problem as a phrase. Match on `code`, never on this. */
            title: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description What was wrong with this request, and what to do. */
            detail: string;
            /** @description The id of the HTTP request in the log of the service, as in the header `x-request-id`. */
            http_request_id: string;
            /** @description The parts of the request that were refused. */
            errors?: components["schemas"]["FieldError"][];
            /** @description With `event-conflict`: the id that was repeated with another body. */
            event_id?: string | null;
            /**
             * Format: int64
             * @description With `event-conflict`: the message that has that id.
             */
            sequence?: number | null;
            /**
             * Format: int64
             * @description With `sequence-conflict`: the number of messages that the chat has.
             */
            last_sequence?: number | null;
            /**
             * Format: int64
             * @description With `insufficient-tokens`: the balance of the wallet.
             */
            balance?: number | null;
            /**
             * Format: int64
             * @description With `insufficient-tokens`: the requested amount.
             */
            amount?: number | null;
            input_request?: components["schemas"]["InputRequest"] | null;
            holder?: components["schemas"]["LeaseHolder"] | null;
            /** @description With `unsettled-tool-calls`: the calls without results. */
            unsettled_calls?: components["schemas"]["UnsettledCall"][];
        };
        /**
         * @description A kind of problem.
         * @enum {string}
         */
        ProblemCode: "invalid-transfer-encoding" | "invalid-host" | "malformed-json" | "invalid-app-id" | "unauthenticated" | "insufficient-tokens" | "app-disabled" | "forbidden-app" | "forbidden-origin" | "forbidden-owner" | "forbidden-permission" | "sign-in-failed" | "no-search" | "no-sign-in" | "forbidden-role" | "no-such-route" | "app-not-found" | "erasure-not-found" | "chat-not-found" | "message-not-found" | "context-version-not-found" | "assistant-not-found" | "document-not-found" | "wallet-not-found" | "method-not-allowed" | "not-acceptable" | "upgrade-required" | "body-timeout" | "chat-exists" | "assistant-taken" | "document-taken" | "chat-held" | "chat-ended" | "append-conflict" | "event-conflict" | "call-conflict" | "tool-run-conflict" | "entry-conflict" | "balance-too-large" | "input-not-found" | "input-conflict" | "input-closed" | "tool-call-mismatch" | "unsettled-tool-calls" | "too-many-inputs" | "too-many-revocations" | "too-many-members" | "too-many-participants" | "stream-not-found" | "stream-conflict" | "busy" | "fenced" | "turn-conflict" | "broken-call-stack" | "stack-not-found" | "illegal-transition" | "sequence-conflict" | "precondition-failed" | "body-too-large" | "message-too-large" | "batch-too-large" | "context-too-large" | "artifact-too-large" | "metadata-too-large" | "input-too-large" | "tool-run-too-large" | "assistant-too-large" | "document-too-large" | "range-not-satisfiable" | "unsupported-media-type" | "invalid-request" | "too-many-requests" | "diff-too-large" | "internal" | "unsupported-schema-version" | "corrupt-document" | "store-refused" | "store-unavailable" | "not-a-replica-set" | "keys-unavailable" | "upgrade-pending" | "indexing-metadata" | "overloaded" | "too-many-subscribers" | "deadline-exceeded" | "outcome-unknown";
        /** @description A call of a model provider. */
        ProviderCall: {
            /** @example call_0198d4b2 */
            call_id: string;
            /**
             * @description The agent that made the call.
             * @example interviewer
             */
            agent?: string | null;
            /**
             * @description The requested provider.
             * @example anthropic
             */
            requested_provider?: string | null;
            /**
             * @description The requested model.
             * @example claude-sonnet-4
             */
            requested_model?: string | null;
            /**
             * @description The provider that answered.
             * @example anthropic
             */
            provider?: string | null;
            /**
             * @description The model that answered.
             * @example claude-sonnet-4
             */
            model?: string | null;
            /**
             * @description The kind of the provider that answered.
             * @example cloud
             */
            provider_kind?: string | null;
            /**
             * Format: int64
             * @example 12
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @example 4
             */
            completion_tokens: number;
            /**
             * Format: int64
             * @example 16
             */
            total_tokens: number;
            /**
             * Format: int64
             * @description The cost, in millionths of a US dollar.
             * @example 1234
             */
            cost_micros_usd: number;
            /**
             * @description The same amount in US dollars.
             * @example 0.001234
             */
            cost_usd: string;
            /**
             * Format: int64
             * @description The duration, in milliseconds.
             * @example 850
             */
            duration_ms: number;
            /**
             * @description The request id that the provider or gateway assigned.
             * @example req_7f3a
             */
            request_id?: string | null;
            /** @description When the call was made. */
            called_at: components["schemas"]["Time"];
        };
        /**
         * @description What stands for a person in the audit log of an app: 64 hexadecimal digits.
         * @example 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
         */
        Pseudonym: string;
        /**
         * @description Whether the service can handle requests; `stopping` once the process was asked to stop.
         * @enum {string}
         */
        Readiness: "ready" | "unavailable" | "stopping";
        /** @description The readiness of the service. The reason for a failed check is in the log only. */
        ReadyResponse: {
            /** @description `ready`, `unavailable`, or `stopping` once the process was asked to stop. */
            status: components["schemas"]["Readiness"];
            checks: components["schemas"]["Checks"];
        };
        /**
         * @description The reason for which a question is cancelled.
         * @example {
         *       "reason": "no longer needed"
         *     }
         */
        ReasonRequest: {
            /** @description At most 1,000 characters. */
            reason?: string | null;
        };
        /** @description The recorded calls and their payment. */
        RecordCallsResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description In the order of the request. */
            calls: components["schemas"]["RecordedCall"][];
            payment?: components["schemas"]["Payment"] | null;
        };
        /** @description The recorded runs. */
        RecordToolRunsResponse: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description In the order of the request. */
            runs: components["schemas"]["RecordedToolRun"][];
        };
        /** @description A call, and whether it was recorded before. */
        RecordedCall: components["schemas"]["ProviderCall"] & {
            /** @description Whether the call was recorded before; a duplicate is not counted again. */
            duplicate: boolean;
        };
        /** @description A run, and whether it was recorded before. */
        RecordedToolRun: components["schemas"]["ToolRun"] & {
            /** @description Whether the run was recorded before. */
            duplicate: boolean;
        };
        /** @description A message that was changed in the response; the stored message is unchanged. */
        Repaired: {
            /**
             * Format: int64
             * @description The sequence of the message.
             */
            sequence: number;
            /**
             * @description The change, as a stable word.
             * @example name_sanitised
             */
            repair: string;
            /** @description The change, as a sentence. */
            detail: string;
        };
        /**
         * @description The version to restore.
         * @example {
         *       "version": 2
         *     }
         */
        RestoreContextRequest: {
            /** Format: int64 */
            version: number;
        };
        /** @description Everything that is needed to resume a chat, from one consistent snapshot. */
        Resume: {
            chat: components["schemas"]["ChatSession"];
            /**
             * @description The next action: `retry` the failed step, `continue` the interrupted step, `await_input`, `start` if no
             *     step is open, or `nothing_to_do`.
             */
            action: components["schemas"]["Action"];
            step?: components["schemas"]["StepToRun"] | null;
            /** @description All unfinished steps of the last turn, in order; several if they ran at the same time. */
            open_steps: components["schemas"]["ResumePoint"][];
            /** @description Whether the chat must be reopened before the next write. */
            must_reopen: boolean;
            /** @description The contents of the shared space to restore before the next step runs. */
            space: {
                [key: string]: unknown;
            };
            /**
             * @description The next speaker, if it follows from the transcript.
             * @example visualizer
             */
            next_speaker?: string | null;
            /** @description The tool calls without results, in order. */
            pending_calls: components["schemas"]["PendingCall"][];
            transcript: components["schemas"]["Transcript"];
            termination?: components["schemas"]["Termination"] | null;
            /**
             * Format: int64
             * @description The chat's counter when the context snapshot was written.
             * @example 15
             */
            context_sequence: number;
            context_snapshot: {
                [key: string]: unknown;
            };
            last_artifact?: components["schemas"]["Artifact"] | null;
            /** @description The pending input requests, oldest first. */
            pending_inputs: components["schemas"]["InputRequest"][];
        };
        /** @description An unfinished step, from which a turn can be resumed. */
        ResumePoint: {
            /**
             * @description The id of its turn.
             * @example req_abc
             */
            request_id: string;
            /**
             * Format: int64
             * @description The number of the turn in the chat, from 1.
             * @example 1
             */
            turn: number;
            /**
             * Format: int32
             * @description The number of the step in its turn, from 1.
             * @example 5
             */
            sequence: number;
            /** @description `input`, `hook_create`, `llm`, `tool`, `hook_next` or `delegate`. */
            type: components["schemas"]["StepType"];
            /** @description `interrupted` or `failed`. */
            status: components["schemas"]["StepStatus"];
            /** @example visualizer */
            assistant_id?: string | null;
            /** @example stk_002 */
            stack_id: string;
            /** @example stk_001 */
            stack_parent_id?: string | null;
            /**
             * Format: int32
             * @example 1
             */
            stack_depth: number;
            /** @description The input of the step. */
            input?: {
                [key: string]: unknown;
            } | null;
            /** @description The output of the step so far. */
            output?: {
                [key: string]: unknown;
            } | null;
            /** @description The shared space at the start of the step. */
            space_snapshot: {
                [key: string]: unknown;
            };
            error?: string | null;
            metadata: {
                [key: string]: unknown;
            };
            created_at: components["schemas"]["Time"];
        };
        /** @description A revocation of the tokens of a user in an app. */
        Revocation: {
            issued_until?: components["schemas"]["Time"] | null;
            /** @description When the tokens were last revoked. */
            revoked_at: components["schemas"]["Time"];
            expires_at?: components["schemas"]["Time"] | null;
        };
        /** @description A page of messages that were found, the newest first. */
        SearchResponse: components["schemas"]["Page_HitResponse"] & {
            /** @description Whether there may be messages that were not looked at. With a `next_cursor`, the next page goes on there. */
            partial: boolean;
            /**
             * Format: int64
             * @description How far the index is behind the messages, in milliseconds, at most; null if it was never complete.
             */
            behind_ms?: number | null;
        };
        /** @description The statistics of a workflow over time. */
        SeriesResponse: {
            /** @example acme_corp */
            app_id: string;
            /** @example Generator */
            workflow_name: string;
            /** @description The start of the first step. */
            from: components["schemas"]["Time"];
            /** @description The end of the last step. */
            to: components["schemas"]["Time"];
            step: components["schemas"]["Step"];
            /** @description One point for each step, also if nothing happened in it. */
            points: components["schemas"]["Point"][];
        };
        /** @description How the browser that asks is signed in. */
        SessionResponse: {
            /** @description Whether people can sign in at this service. */
            can_sign_in: boolean;
            session?: components["schemas"]["SignedIn"] | null;
        };
        /** @description A person who is signed in. */
        SignedIn: {
            /** @description The person. */
            user_id: components["schemas"]["Name"];
            /** @description `user`, `support` or `operator`. */
            role: components["schemas"]["PersonRole"];
            /** @description The apps that the person may use; null for all. */
            apps?: components["schemas"]["AppId"][] | null;
            expires_at?: components["schemas"]["Time"] | null;
            /** @description What requests that change something must send in the header `x-csrf-token`. */
            csrf_token: string;
        };
        /** @description The call stack of a call. */
        Stack: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @example stk_002 */
            stack_id: string;
            /**
             * @description The ids of the calls, outermost first.
             * @example [
             *       "stk_001",
             *       "stk_002"
             *     ]
             */
            stack_path: string[];
            /** @description The resume points of these calls, in order of their steps. */
            resume_points: components["schemas"]["ResumePoint"][];
        };
        /** @description With `status`: the new status of the chat. */
        StatusChanged: {
            /** @description `running`, `paused`, `completed` or `failed`. */
            status: components["schemas"]["ChatStatus"];
            /** @description Why the chat was paused or failed. */
            status_reason?: string | null;
        };
        /** @description The number of chats by their current status, without those that were deleted or purged before they had ended. */
        Statuses: {
            /**
             * Format: int64
             * @example 0
             */
            running: number;
            /**
             * Format: int64
             * @example 0
             */
            paused: number;
            /**
             * Format: int64
             * @example 2
             */
            completed: number;
            /**
             * Format: int64
             * @example 0
             */
            failed: number;
        };
        /**
         * @description The period that each point of a series covers.
         * @enum {string}
         */
        Step: "hour" | "day";
        /**
         * @description The state of a step.
         * @enum {string}
         */
        StepStatus: "running" | "completed" | "interrupted" | "failed";
        /** @description A step to run again. */
        StepToRun: components["schemas"]["ResumePoint"] & {
            /**
             * @description The call stack of the step, outermost call first; null if it is incomplete.
             * @example [
             *       "stk_001",
             *       "stk_002"
             *     ]
             */
            stack_path?: string[] | null;
            /** @description Why the call stack is incomplete. */
            stack_error?: string | null;
        };
        /**
         * @description The kind of a step.
         * @enum {string}
         */
        StepType: "input" | "hook_create" | "llm" | "tool" | "hook_next" | "delegate";
        /**
         * @description Whether the store answers, or must become a replica set first.
         * @enum {string}
         */
        StoreCheck: "ok" | "unavailable" | "starting" | "not-a-replica-set";
        /**
         * @description A format in which messages can be stored, too; docs/api/messages.md describes each.
         * @enum {string}
         */
        StoredDialect: "ag2" | "ag2-classic" | "ag2-classic-manager" | "ag2-v1" | "openai" | "openai-compatible" | "openai-responses" | "anthropic" | "claude-agent-sdk" | "bedrock-converse" | "gemini" | "gemini-vertex" | "langchain" | "pydantic-ai" | "google-adk" | "ui-message" | "ag-ui" | "acp" | "yao";
        /** @description An answer that an agent is producing, or has produced within the hour. */
        Stream: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @example stream_0198d4b2 */
            stream_id: string;
            format: components["schemas"]["StreamFormatName"];
            /**
             * @description The agent that produces it.
             * @example writer
             */
            agent?: string | null;
            /**
             * @description The turn that it becomes part of.
             * @example req_abc
             */
            request_id?: string | null;
            state: components["schemas"]["StreamState"];
            /**
             * Format: int32
             * @description How often an agent began to produce the answer. When it grows, the chunks so far are void.
             * @example 1
             */
            attempt: number;
            /**
             * Format: int64
             * @description The position of the next chunk: the number of chunks of this attempt.
             * @example 12
             */
            next: number;
            /**
             * Format: int64
             * @description The number of the last write of the stream, from 0.
             * @example 3
             */
            group: number;
            /**
             * Format: int64
             * @description The size of all chunks, in bytes; at most 16 MiB.
             * @example 640
             */
            bytes: number;
            /** @description Whether its agent was asked to stop. */
            cancel_requested: boolean;
            /**
             * @description Whether it is running, and its agent has written nothing for 30 s: the agent is lost, and the next holder of the lease may
             *     take the stream over.
             */
            stalled: boolean;
            /** @description Why it failed, or how the end of its chat cancelled it. */
            error?: string | null;
            /**
             * Format: int64
             * @description The counter of the chat after the turn that it became, if it became one.
             * @example 2
             */
            last_sequence?: number | null;
            started_at: components["schemas"]["Time"];
            /** @description When its agent last wrote it, or when it ended. */
            written_at: components["schemas"]["Time"];
        };
        /** @description With `stream-chunk`: chunks of a stream. */
        StreamChunk: {
            /** @example stream_0198d4b2 */
            stream_id: string;
            /**
             * Format: int32
             * @description See the stream.
             * @example 1
             */
            attempt: number;
            /**
             * Format: int64
             * @description The position of the first of the chunks.
             * @example 12
             */
            from: number;
            /**
             * Format: int64
             * @description The position after the last of the chunks.
             * @example 14
             */
            next: number;
            /** @description There may be fewer than positions: deltas of one text that were written before the client came are joined. */
            chunks: components["schemas"]["Content"][];
        };
        /**
         * @description How a stream ends.
         * @example {
         *       "state": "finished"
         *     }
         */
        StreamEnd: {
            state: components["schemas"]["StreamEndState"];
            /** @description Why it failed, at most 4 KiB. */
            error?: string | null;
            /** @description Whether the messages that the chunks make are stored as a turn; by default unless the stream failed. */
            store?: boolean | null;
        };
        /**
         * @description How a stream ends: as the agent wanted (`finished`), because of an error (`failed`), or because the agent was asked to stop
         *     (`cancelled`).
         * @enum {string}
         */
        StreamEndState: "finished" | "failed" | "cancelled";
        /**
         * @description What the chunks are: chunks of a UI message stream of the AI SDK (`ui_message`), updates of the Agent Client Protocol
         *     (`acp`), or strings (`text`).
         * @enum {string}
         */
        StreamFormat: "ui_message" | "acp" | "text";
        /**
         * @description What the chunks of a stream are.
         * @enum {string}
         */
        StreamFormatName: "ui_message" | "acp" | "text";
        /** @description A write of a stream. */
        StreamGroup: {
            /**
             * Format: int64
             * @description The number of the write, from 0.
             * @example 4
             */
            group: number;
            /**
             * @description What it did: `started`, `chunks`, `continued` and `restarted` by the next holder of the lease, `cancel_requested`, or `ended`.
             * @example chunks
             */
            event: string;
            /**
             * Format: int32
             * @description See the stream.
             * @example 1
             */
            attempt: number;
            /**
             * Format: int64
             * @description The position of its first chunk.
             * @example 12
             */
            from: number;
            chunks: components["schemas"]["Content"][];
        };
        /** @description A page of the writes of a stream. */
        StreamGroups: {
            /** @example stream_0198d4b2 */
            stream_id: string;
            /** @description Oldest first, about 1 MiB; empty at the end. */
            groups: components["schemas"]["StreamGroup"][];
        };
        /** @description Where a stream stands. */
        StreamProgress: {
            /** @example stream_0198d4b2 */
            stream_id: string;
            /**
             * Format: int64
             * @description The position of the next chunk.
             * @example 14
             */
            next: number;
            /** @description Whether the agent is to stop, and to end the stream as `cancelled`. */
            cancel_requested: boolean;
        };
        /**
         * @description Whether a stream goes on, or how it ended.
         * @enum {string}
         */
        StreamState: "running" | "finished" | "failed" | "cancelled" | "superseded";
        /**
         * @description How a stream is taken over.
         * @example {
         *       "mode": "continue"
         *     }
         */
        StreamTakeover: {
            mode: components["schemas"]["TakeoverMode"];
            /**
             * Format: int32
             * @description Of a restart, the `attempt` of the stream whose chunks are void then. With it the request is idempotent: without it, a
             *     repeat also voids what was added since.
             */
            attempt?: number | null;
        };
        /** @description The turn that a stream became. */
        StreamTurn: {
            /** @example req_abc */
            request_id: string;
            /** @description Whether the turn was stored before. */
            duplicate: boolean;
            /**
             * Format: int64
             * @description The chat's counter afterwards: the sequence of the next message.
             * @example 2
             */
            last_sequence: number;
            /** @description One for each message, in order. */
            messages: components["schemas"]["Appended"][];
        };
        /** @description The streams of a chat. */
        Streams: {
            /** @example chat_abc123def456 */
            chat_id: string;
            /** @description Latest first: those that are running, and those that ended within the hour. */
            streams: components["schemas"]["Stream"][];
        };
        /**
         * @description An answer to an input request, in any chat of an app.
         * @example {
         *       "app_id": "acme_corp",
         *       "input_request_id": "input_0198d4b2",
         *       "user_input": "MongoDB"
         *     }
         */
        SubmittedAnswer: {
            /** @description The app: 1 to 64 of `A-Z a-z 0-9 _ -`. */
            app_id: components["schemas"]["AppId"];
            input_request_id: components["schemas"]["Name"];
            user_input: string;
            chat_id?: components["schemas"]["ChatId"] | null;
            event_id?: components["schemas"]["Name"] | null;
        };
        /** @description The stored input. */
        SubmittedInput: {
            /** @example accepted */
            status: string;
            /** @example chat_abc123def456 */
            chat_id: string;
            /**
             * @description The input request that the input has answered.
             * @example input_0198d4b2
             */
            request_id?: string | null;
            /**
             * @description The id of the message that the input became.
             * @example evt_msg_001
             */
            event_id: string;
            /**
             * Format: int64
             * @example 4
             */
            sequence: number;
            /** @description Whether the input was stored before. */
            duplicate: boolean;
        };
        /** @description The statistics of a workflow, or of all workflows of an app. */
        Summary: {
            /**
             * Format: int64
             * @description The number of chats that were ever created.
             * @example 2
             */
            chats: number;
            statuses: components["schemas"]["Statuses"];
            events: components["schemas"]["Events"];
            /**
             * Format: double
             * @description The failed chats divided by all chats that have ended; null if none has ended.
             * @example 0
             */
            error_rate?: number | null;
            usage: components["schemas"]["Usage"];
        };
        /**
         * @description Whether the chunks so far stay (`continue`), or the answer begins again (`restart`).
         * @enum {string}
         */
        TakeoverMode: "continue" | "restart";
        /** @description A message that ends a conversation. */
        Termination: {
            /** Format: int64 */
            sequence: number;
            /**
             * @description The text that ends the conversation.
             * @example TERMINATE
             */
            text: string;
        };
        /** @description A ticket to a chat. */
        Ticket: {
            /**
             * @description The value of the query parameter `ticket`; valid for one connection.
             * @example 8mJ1v0kPp4m2lq3Yw1f3cQ7cEo6a2mXn5tq0sJkV9bE
             */
            ticket: string;
            /** @description The connection must be opened before this time. */
            expires_at: components["schemas"]["Time"];
        };
        /**
         * @description A permission that a ticket can be for.
         * @enum {string}
         */
        TicketPermission: "read" | "say";
        /**
         * Format: date-time
         * @description A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.
         *
         *     In requests any offset is accepted.
         * @example 2025-10-02T10:00:00.000Z
         */
        Time: string;
        /**
         * @description When something happened, by the days of a time zone. Weeks begin on Monday.
         * @enum {string}
         */
        TimeGroup: "today" | "yesterday" | "this_week" | "this_month" | "earlier";
        /** @description A tool call, identified by its arguments or by their hash. */
        ToolCallRef: {
            id: string;
            name: string;
            /** @description The `arguments_hash` of the input request. */
            arguments_hash?: string | null;
            /** @description The arguments, instead of their hash. */
            arguments?: unknown;
        };
        /** @description A run of a tool. */
        ToolRun: {
            /** @example run_0198d4b2 */
            run_id: string;
            /** @example WebSearch */
            tool_name: string;
            /**
             * @description The agent that used the tool.
             * @example researcher
             */
            agent?: string | null;
            /**
             * @description The id of the tool call of a message that the run answers.
             * @example call_7f3a
             */
            tool_call_id?: string | null;
            /** @description What the tool was given. */
            parameters: unknown;
            /** @description What the tool returned. */
            result: unknown;
            is_success: boolean;
            /** @description Why the tool failed. */
            error?: string | null;
            /**
             * Format: int64
             * @description The duration, in milliseconds; null if it was not measured.
             * @example 250
             */
            execution_time_ms?: number | null;
            metadata: {
                [key: string]: unknown;
            };
            /** @description When the run began. */
            started_at: components["schemas"]["Time"];
            /** @description When the run was recorded. */
            recorded_at: components["schemas"]["Time"];
        };
        /** @description The sums of runs of tools. */
        ToolStats: {
            /** @description All runs. */
            total: components["schemas"]["ToolSums"];
            /** @description The 1,000 tools with the most runs, those first. */
            tools: components["schemas"]["ToolUsage"][];
            /**
             * Format: int64
             * @description The number of tools that are not listed.
             */
            other_tools: number;
        };
        /** @description Sums. */
        ToolSums: {
            /**
             * Format: int64
             * @example 12
             */
            runs: number;
            /**
             * Format: int64
             * @example 11
             */
            succeeded: number;
            /**
             * Format: int64
             * @example 1
             */
            failed: number;
            /**
             * Format: double
             * @description The share of runs that succeeded; null without runs.
             * @example 0.916
             */
            success_rate?: number | null;
            /**
             * Format: int64
             * @description The sum of the durations that are known, in milliseconds.
             * @example 3000
             */
            execution_time_ms: number;
            /**
             * Format: double
             * @description Their average; null if none is known.
             * @example 250
             */
            average_ms?: number | null;
            /**
             * Format: int64
             * @description The longest of them; null if none is known.
             * @example 900
             */
            longest_ms?: number | null;
        };
        /** @description The sums of the runs of one tool. */
        ToolUsage: components["schemas"]["ToolSums"] & {
            /** @example WebSearch */
            tool_name: string;
            /** @description When the last of the runs began. */
            last_started_at: components["schemas"]["Time"];
        };
        /** @description The messages in a dialect, with what was dropped or repaired. */
        Transcript: {
            dialect: components["schemas"]["Dialect"];
            messages: {
                [key: string]: unknown;
            }[];
            dropped: components["schemas"]["Dropped"][];
            repaired: components["schemas"]["Repaired"][];
            /** @description The original of each name that was replaced. */
            names: {
                [key: string]: string;
            };
            /** @description The original of each call id that was replaced. */
            ids: {
                [key: string]: string;
            };
            /** @description The system instructions, for dialects that keep them apart from the messages. */
            system: {
                [key: string]: unknown;
            }[];
        };
        /**
         * @description A message of a turn, or a delta.
         * @example {
         *       "message_id": "msg_1",
         *       "role": "assistant",
         *       "name": "analyzer",
         *       "content": "The data "
         *     }
         */
        TurnMessage: {
            /**
             * Format: int64
             * @description Where the caller believes that the message is. The chat gives the positions; a difference is told in `noted`.
             */
            sequence?: number | null;
            /**
             * Format: int64
             * @description Beside a single message: append it only if the chat has this `last_sequence`.
             */
            expected_last_sequence?: number | null;
            role?: components["schemas"]["Name"] | null;
            /** @description The speaker. */
            name?: string | null;
            /** @description An alternative to `name`. */
            agent_name?: string | null;
            /**
             * @description Any JSON value, mostly text. Required unless the message has `content_blocks`, `function_call`, `props`, `refusal`,
             *     `tool_calls` or `tool_responses`.
             */
            content?: unknown;
            /** @description The caller's own time, stored as given, at most 64 characters. */
            timestamp?: string | null;
            /** @description Data of the caller that is stored with the message. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            author?: components["schemas"]["NewAuthor"] | null;
            assistant_id?: components["schemas"]["Name"] | null;
            block_id?: components["schemas"]["Name"] | null;
            connector?: components["schemas"]["Name"] | null;
            /**
             * @description The content as the blocks of Anthropic: histories take from them the reasoning with its signatures, and the content
             *     if `content` is missing or the same text.
             */
            content_blocks?: unknown;
            event_type?: unknown;
            function_call?: unknown;
            is_user_proxy?: unknown;
            /** @description The id that deltas refer to. A later message with the same id replaces the earlier one. */
            message_id?: string | null;
            mode?: components["schemas"]["Name"] | null;
            produced_by_call_id?: components["schemas"]["Name"] | null;
            /** @description The properties of the message for a user interface, mostly an object. */
            props?: unknown;
            reasoning_content?: unknown;
            refusal?: unknown;
            structured_output?: unknown;
            structured_schema?: unknown;
            thread_id?: components["schemas"]["Name"] | null;
            tool_call_id?: unknown;
            tool_calls?: unknown;
            /**
             * @description Beside a result: whether, or how, the call failed. Histories give the result as failed unless it is false or an empty
             *     text.
             */
            tool_error?: unknown;
            tool_responses?: unknown;
            type?: components["schemas"]["Name"] | null;
            /** @description What the message came with besides these fields, by dialect. */
            provider?: {
                [key: string]: unknown;
            } | null;
            /** @description The number of the chunk; ignored. */
            chunk_id?: unknown;
            /** @description Whether this item is a delta of the message with that `message_id`. */
            delta?: boolean;
            /** @description The path that the delta changes, such as `content` (default) or `content.0.text`. */
            delta_path?: string | null;
            delta_action?: components["schemas"]["DeltaAction"];
        };
        /**
         * @description How a turn ended.
         * @enum {string}
         */
        TurnOutcome: "completed" | "interrupted" | "failed";
        /** @description A part of a transcript that is not stored. */
        Unread: {
            /** @description The index in `messages`. */
            index: number;
            /**
             * @description The reason, as a stable word.
             * @example unsupported_role
             */
            reason: string;
            /** @description The reason, as a sentence. */
            detail: string;
        };
        /**
         * @description What happens to a message whose tool calls do not all have results directly after it: its calls are removed, the missing results are added as errors (`settle`), the message is left out (`trim`), or the request is refused.
         * @enum {string}
         */
        Unsettled: "remove" | "settle" | "trim" | "reject" | "keep";
        /** @description A tool call without a result. */
        UnsettledCall: {
            /**
             * Format: int64
             * @description The sequence of the message with the call.
             */
            sequence: number;
            /** @example call_1 */
            call_id: string;
            /**
             * @description The name of the tool.
             * @example search
             */
            name: string;
        };
        /** @description The summed usage of several calls. */
        Usage: {
            /**
             * Format: int64
             * @description The number of calls.
             * @example 1
             */
            calls: number;
            /**
             * Format: int64
             * @example 12
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @example 4
             */
            completion_tokens: number;
            /**
             * Format: int64
             * @example 16
             */
            total_tokens: number;
            /**
             * Format: int64
             * @description The cost, in millionths of a US dollar.
             * @example 1234
             */
            cost_micros_usd: number;
            /**
             * @description The same amount in US dollars.
             * @example 0.001234
             */
            cost_usd: string;
            /**
             * Format: int64
             * @description The sum of the durations, in milliseconds.
             * @example 850
             */
            duration_ms: number;
        };
        /** @description The usage of an hour or a day. */
        UsagePoint: {
            /** @description The start of the step. */
            at: components["schemas"]["Time"];
            usage: components["schemas"]["Usage"];
        };
        /**
         * @description An input of a user.
         * @example {
         *       "message": "Add a due date"
         *     }
         */
        UserInput: {
            message: string;
            request_id?: components["schemas"]["Name"] | null;
            event_id?: components["schemas"]["Name"] | null;
        };
        /** @description The usage of the chats that a user owns over time. */
        UserSeriesResponse: {
            /** @example acme_corp */
            app_id: string;
            /** @example user_alice */
            user_id: string;
            /** @description The start of the first step. */
            from: components["schemas"]["Time"];
            /** @description The end of the last step. */
            to: components["schemas"]["Time"];
            step: components["schemas"]["Step"];
            /** @description One point for each step, also if nothing happened in it. */
            points: components["schemas"]["UsagePoint"][];
        };
        /** @description The usage of the chats that a user owns. */
        UserStatsResponse: {
            /** @example acme_corp */
            app_id: string;
            /** @example user_alice */
            user_id: string;
            usage: components["schemas"]["Usage"];
            /** @description The workflows with calls, ordered by name. */
            workflows: components["schemas"]["UserWorkflow"][];
        };
        /** @description The usage of the chats that a user owns. */
        UserUsage: {
            /**
             * @description The user; after an erasure, the pseudonym.
             * @example user_alice
             */
            user_id: string;
            usage: components["schemas"]["Usage"];
            /** @description The usage by the asked step. */
            points?: components["schemas"]["UsagePoint"][] | null;
        };
        /** @description The usage of the chats of a workflow that a user owns. */
        UserWorkflow: {
            /** @example Generator */
            workflow_name: string;
            usage: components["schemas"]["Usage"];
        };
        /**
         * @description The variables of a workflow, by name.
         * @example {
         *       "interview_complete": true
         *     }
         */
        Variables: {
            [key: string]: unknown;
        };
        /**
         * @description Whether a message is what was signed (`signed`), or was stored or changed by a service since (`unsigned`), or was changed in the database without a service (`broken`).
         * @enum {string}
         */
        Verdict: "signed" | "unsigned" | "broken";
        /** @description With `context`, `artifact` and `chat`: it has changed; read it to get the new one. */
        VersionChanged: {
            /**
             * Format: int64
             * @description The number of changes so far.
             * @example 3
             */
            version: number;
        };
        /**
         * @description Who may find and read a chat, besides its owner and its members: no other user (`private`), its team (`team`), every user of the app who knows the id (`link`), or every user of the app, who also finds it in the list (`app`).
         * @enum {string}
         */
        Visibility: "private" | "team" | "link" | "app";
        /** @description A wallet. */
        Wallet: {
            /** @example acme_corp */
            app_id: string;
            /** @example user_alice_456 */
            user_id: string;
            /**
             * Format: int64
             * @description Whole tokens: the sum of all entries.
             * @example 1000
             */
            balance: number;
            /**
             * Format: int64
             * @description The number of entries.
             * @example 1
             */
            entry_count: number;
            created_at: components["schemas"]["Time"];
            last_updated_at: components["schemas"]["Time"];
        };
        /** @description An entry of a wallet: one change of its balance. */
        WalletEntry: {
            /** @example top_up_1 */
            entry_id: string;
            /**
             * Format: int64
             * @description The position in the wallet, from 0.
             * @example 1
             */
            sequence: number;
            /** @description `initial`, `credit` or `debit`. */
            kind: components["schemas"]["EntryKind"];
            /**
             * Format: int64
             * @description Whole tokens, negative for a debit.
             * @example 1000
             */
            amount: number;
            /**
             * Format: int64
             * @description The balance afterwards.
             * @example 1000
             */
            balance: number;
            reason?: string | null;
            created_at: components["schemas"]["Time"];
        };
        /** @description The usage of an agent. */
        WorkflowAgent: {
            /**
             * Format: int64
             * @example 1500
             */
            total_prompt_tokens: number;
            /**
             * Format: int64
             * @example 800
             */
            total_completion_tokens: number;
            /**
             * Format: double
             * @example 0.06
             */
            total_cost_usd: number;
        };
        /** @description The duration and usage of a chat. */
        WorkflowChat: {
            /**
             * Format: double
             * @description Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
             * @example 300
             */
            duration_sec: number;
            /**
             * Format: int64
             * @example 3500
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @example 1600
             */
            completion_tokens: number;
            /**
             * Format: int64
             * @example 5100
             */
            total_tokens: number;
            /**
             * Format: double
             * @example 0.18
             */
            cost_total_usd: number;
            status?: components["schemas"]["ChatStatus"] | null;
            started_at: components["schemas"]["Time"];
        };
        /** @description The statistics and the cost of a workflow. */
        WorkflowStatsResponse: components["schemas"]["Summary"] & {
            /**
             * @description `mon_{app_id}_{workflow_name}`, for existing readers; two workflows may share it.
             * @example mon_acme_corp_Generator
             */
            _id: string;
            /** @example acme_corp */
            app_id: string;
            /** @example Generator */
            workflow_name: string;
            last_updated_at?: components["schemas"]["Time"] | null;
            overall_avg: components["schemas"]["OverallAvg"];
            /** @description The newest chats, by id. */
            chat_sessions: {
                [key: string]: components["schemas"]["WorkflowChat"];
            };
            /** @description The cursor for further chats, at `chats?cursor=`; null if these are all. */
            next_cursor?: string | null;
            /** @description The usage of agents, by name; calls without an agent are only in `top_agents`. */
            agents: {
                [key: string]: components["schemas"]["WorkflowAgent"];
            };
            /** @description Percentiles of durations, tokens and costs, of chats and of calls. */
            percentiles: {
                [key: string]: components["schemas"]["Percentiles"];
            };
            /** @description Agents, highest cost first. */
            top_agents: components["schemas"]["AgentStats"][];
            /** @description Models, highest cost first. */
            top_models: components["schemas"]["ModelStats"][];
        };
        /** @description The statistics of a workflow. */
        WorkflowSummary: components["schemas"]["Summary"] & {
            /** @example Generator */
            workflow_name: string;
            last_updated_at?: components["schemas"]["Time"] | null;
            hourly: components["schemas"]["Hourly"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Where the browser goes */
        Location: string;
        /** @description What the browser keeps until it is signed in, or while it is */
        "Set-Cookie": string;
        /** @description The scheme of the token */
        "WWW-Authenticate": "Bearer";
        /** @description After how many seconds to try again */
        "Retry-After": number;
        /** @description How many may come at once */
        "RateLimit-Limit": number;
        /** @description What is left of the quota */
        "RateLimit-Remaining": number;
        /** @description After how many seconds the quota is whole again */
        "RateLimit-Reset": number;
    };
    pathItems: never;
}
export type Action = components['schemas']['Action'];
export type AgentStats = components['schemas']['AgentStats'];
export type AgentStatsResponse = components['schemas']['AgentStatsResponse'];
export type AgentUsage = components['schemas']['AgentUsage'];
export type AnsweredInput = components['schemas']['AnsweredInput'];
export type App = components['schemas']['App'];
export type AppChange = components['schemas']['AppChange'];
export type AppId = components['schemas']['AppId'];
export type AppSettings = components['schemas']['AppSettings'];
export type AppSettingsChange = components['schemas']['AppSettingsChange'];
export type AppStatsResponse = components['schemas']['AppStatsResponse'];
export type AppStatus = components['schemas']['AppStatus'];
export type AppSummary = components['schemas']['AppSummary'];
export type AppToolStatsResponse = components['schemas']['AppToolStatsResponse'];
export type Append = components['schemas']['Append'];
export type AppendResponse = components['schemas']['AppendResponse'];
export type Appended = components['schemas']['Appended'];
export type AppendedDocument = components['schemas']['AppendedDocument'];
export type AppendedTurn = components['schemas']['AppendedTurn'];
export type Artifact = components['schemas']['Artifact'];
export type ArtifactResponse = components['schemas']['ArtifactResponse'];
export type Assistant = components['schemas']['Assistant'];
export type AssistantChange = components['schemas']['AssistantChange'];
export type AssistantTag = components['schemas']['AssistantTag'];
export type AssistantTags = components['schemas']['AssistantTags'];
export type Author = components['schemas']['Author'];
export type BalanceResponse = components['schemas']['BalanceResponse'];
export type BoundToolCall = components['schemas']['BoundToolCall'];
export type CallSummary = components['schemas']['CallSummary'];
export type CaughtUp = components['schemas']['CaughtUp'];
export type ChangeResponse = components['schemas']['ChangeResponse'];
export type ChatId = components['schemas']['ChatId'];
export type ChatMeta = components['schemas']['ChatMeta'];
export type ChatPermission = components['schemas']['ChatPermission'];
export type ChatSession = components['schemas']['ChatSession'];
export type ChatSessionChange = components['schemas']['ChatSessionChange'];
export type ChatStats = components['schemas']['ChatStats'];
export type ChatStatus = components['schemas']['ChatStatus'];
export type ChatStatuses = components['schemas']['ChatStatuses'];
export type ChatToolStatsResponse = components['schemas']['ChatToolStatsResponse'];
export type ChatWithPermissions = components['schemas']['ChatWithPermissions'];
export type Checkpoint = components['schemas']['Checkpoint'];
export type Checks = components['schemas']['Checks'];
export type ClearedMessages = components['schemas']['ClearedMessages'];
export type Completion = components['schemas']['Completion'];
export type ConsumeRequest = components['schemas']['ConsumeRequest'];
export type ConsumeResponse = components['schemas']['ConsumeResponse'];
export type Content = components['schemas']['Content'];
export type ContextDiffResponse = components['schemas']['ContextDiffResponse'];
export type ContextResponse = components['schemas']['ContextResponse'];
export type ContextVersion = components['schemas']['ContextVersion'];
export type CreateChatRequest = components['schemas']['CreateChatRequest'];
export type Created_Assistant = components['schemas']['Created_Assistant'];
export type Created_ChangeResponse = components['schemas']['Created_ChangeResponse'];
export type Created_ChatSession = components['schemas']['Created_ChatSession'];
export type Created_InputRequest = components['schemas']['Created_InputRequest'];
export type Created_Lease = components['schemas']['Created_Lease'];
export type Created_Participant = components['schemas']['Created_Participant'];
export type Created_Stream = components['schemas']['Created_Stream'];
export type Created_Wallet = components['schemas']['Created_Wallet'];
export type CreditRequest = components['schemas']['CreditRequest'];
export type DebitRequest = components['schemas']['DebitRequest'];
export type DeletedAssistants = components['schemas']['DeletedAssistants'];
export type DeletedDocuments = components['schemas']['DeletedDocuments'];
export type DeletedMessage = components['schemas']['DeletedMessage'];
export type DeletedMessages = components['schemas']['DeletedMessages'];
export type DeltaAction = components['schemas']['DeltaAction'];
export type Dialect = components['schemas']['Dialect'];
export type Document = components['schemas']['Document'];
export type DocumentEvent = components['schemas']['DocumentEvent'];
export type DocumentPath = components['schemas']['DocumentPath'];
export type Dropped = components['schemas']['Dropped'];
export type DroppedChunk = components['schemas']['DroppedChunk'];
export type DroppedOfTurn = components['schemas']['DroppedOfTurn'];
export type EmptyRequest = components['schemas']['EmptyRequest'];
export type EndedStream = components['schemas']['EndedStream'];
export type EnsureWalletRequest = components['schemas']['EnsureWalletRequest'];
export type EntryKind = components['schemas']['EntryKind'];
export type Erasure = components['schemas']['Erasure'];
export type Events = components['schemas']['Events'];
export type ExchangeResponse = components['schemas']['ExchangeResponse'];
export type FieldError = components['schemas']['FieldError'];
export type ForkOrigin = components['schemas']['ForkOrigin'];
export type ForkRequest = components['schemas']['ForkRequest'];
export type GroupCount = components['schemas']['GroupCount'];
export type HeldChat = components['schemas']['HeldChat'];
export type HistoryEnd = components['schemas']['HistoryEnd'];
export type HistoryLine = components['schemas']['HistoryLine'];
export type HistoryMessage = components['schemas']['HistoryMessage'];
export type HistoryResponse = components['schemas']['HistoryResponse'];
export type HitResponse = components['schemas']['HitResponse'];
export type Hold = components['schemas']['Hold'];
export type Hourly = components['schemas']['Hourly'];
export type InputAnswer = components['schemas']['InputAnswer'];
export type InputKind = components['schemas']['InputKind'];
export type InputRequest = components['schemas']['InputRequest'];
export type InputState = components['schemas']['InputState'];
export type Instructions = components['schemas']['Instructions'];
export type Interruption = components['schemas']['Interruption'];
export type KeptContextResponse = components['schemas']['KeptContextResponse'];
export type LastTurn = components['schemas']['LastTurn'];
export type Lease = components['schemas']['Lease'];
export type LeaseHolder = components['schemas']['LeaseHolder'];
export type LeaseRenewal = components['schemas']['LeaseRenewal'];
export type LeaseState = components['schemas']['LeaseState'];
export type Lifecycle = components['schemas']['Lifecycle'];
export type Lifecycles = components['schemas']['Lifecycles'];
export type ListAppStatsResponse = components['schemas']['ListAppStatsResponse'];
export type ListCallsResponse = components['schemas']['ListCallsResponse'];
export type ListChatStatsResponse = components['schemas']['ListChatStatsResponse'];
export type ListChatsResponse = components['schemas']['ListChatsResponse'];
export type ListMessagesResponse = components['schemas']['ListMessagesResponse'];
export type ListUserStatsResponse = components['schemas']['ListUserStatsResponse'];
export type ListedChat = components['schemas']['ListedChat'];
export type ListedDocument = components['schemas']['ListedDocument'];
export type ListenEvent = components['schemas']['ListenEvent'];
export type LiveCheck = components['schemas']['LiveCheck'];
export type LiveResponse = components['schemas']['LiveResponse'];
export type Member = components['schemas']['Member'];
export type MemberRole = components['schemas']['MemberRole'];
export type Message = components['schemas']['Message'];
export type MessageEdit = components['schemas']['MessageEdit'];
export type MessageInclusion = components['schemas']['MessageInclusion'];
export type MessageProof = components['schemas']['MessageProof'];
export type MessagesToDelete = components['schemas']['MessagesToDelete'];
export type MetadataKeys = components['schemas']['MetadataKeys'];
export type ModelStats = components['schemas']['ModelStats'];
export type ModelStatsResponse = components['schemas']['ModelStatsResponse'];
export type ModelUsage = components['schemas']['ModelUsage'];
export type Name = components['schemas']['Name'];
export type Namespace = components['schemas']['Namespace'];
export type NewArtifact = components['schemas']['NewArtifact'];
export type NewAssistant = components['schemas']['NewAssistant'];
export type NewAuthor = components['schemas']['NewAuthor'];
export type NewBoundToolCall = components['schemas']['NewBoundToolCall'];
export type NewChunks = components['schemas']['NewChunks'];
export type NewErasure = components['schemas']['NewErasure'];
export type NewExchange = components['schemas']['NewExchange'];
export type NewHold = components['schemas']['NewHold'];
export type NewInputAnswer = components['schemas']['NewInputAnswer'];
export type NewInputRequest = components['schemas']['NewInputRequest'];
export type NewLease = components['schemas']['NewLease'];
export type NewMember = components['schemas']['NewMember'];
export type NewMessage = components['schemas']['NewMessage'];
export type NewMessages = components['schemas']['NewMessages'];
export type NewParticipant = components['schemas']['NewParticipant'];
export type NewProviderCall = components['schemas']['NewProviderCall'];
export type NewProviderCalls = components['schemas']['NewProviderCalls'];
export type NewRevocation = components['schemas']['NewRevocation'];
export type NewStep = components['schemas']['NewStep'];
export type NewStream = components['schemas']['NewStream'];
export type NewTicket = components['schemas']['NewTicket'];
export type NewToolRun = components['schemas']['NewToolRun'];
export type NewToolRuns = components['schemas']['NewToolRuns'];
export type NewTranscript = components['schemas']['NewTranscript'];
export type NewTurn = components['schemas']['NewTurn'];
export type Noted = components['schemas']['Noted'];
export type OneOrSeveralNewMessages = components['schemas']['OneOrSeveralNewMessages'];
export type OneOrSeveralNewProviderCalls = components['schemas']['OneOrSeveralNewProviderCalls'];
export type OneOrSeveralNewToolRuns = components['schemas']['OneOrSeveralNewToolRuns'];
export type OverallAvg = components['schemas']['OverallAvg'];
export type Page_App = components['schemas']['Page_App'];
export type Page_Assistant = components['schemas']['Page_Assistant'];
export type Page_ContextVersion = components['schemas']['Page_ContextVersion'];
export type Page_HeldChat = components['schemas']['Page_HeldChat'];
export type Page_HitResponse = components['schemas']['Page_HitResponse'];
export type Page_InputRequest = components['schemas']['Page_InputRequest'];
export type Page_ListedChat = components['schemas']['Page_ListedChat'];
export type Page_ListedDocument = components['schemas']['Page_ListedDocument'];
export type Page_Member = components['schemas']['Page_Member'];
export type Page_Message = components['schemas']['Page_Message'];
export type Page_Namespace = components['schemas']['Page_Namespace'];
export type Page_Participant = components['schemas']['Page_Participant'];
export type Page_PendingInputRequest = components['schemas']['Page_PendingInputRequest'];
export type Page_ProviderCall = components['schemas']['Page_ProviderCall'];
export type Page_ResumePoint = components['schemas']['Page_ResumePoint'];
export type Page_ToolRun = components['schemas']['Page_ToolRun'];
export type Page_WalletEntry = components['schemas']['Page_WalletEntry'];
export type Participant = components['schemas']['Participant'];
export type Payment = components['schemas']['Payment'];
export type PendingCall = components['schemas']['PendingCall'];
export type PendingInputRequest = components['schemas']['PendingInputRequest'];
export type Percentiles = components['schemas']['Percentiles'];
export type PersonRole = components['schemas']['PersonRole'];
export type Point = components['schemas']['Point'];
export type Presence = components['schemas']['Presence'];
export type Present = components['schemas']['Present'];
export type Problem = components['schemas']['Problem'];
export type ProblemCode = components['schemas']['ProblemCode'];
export type ProviderCall = components['schemas']['ProviderCall'];
export type Pseudonym = components['schemas']['Pseudonym'];
export type Readiness = components['schemas']['Readiness'];
export type ReadyResponse = components['schemas']['ReadyResponse'];
export type ReasonRequest = components['schemas']['ReasonRequest'];
export type RecordCallsResponse = components['schemas']['RecordCallsResponse'];
export type RecordToolRunsResponse = components['schemas']['RecordToolRunsResponse'];
export type RecordedCall = components['schemas']['RecordedCall'];
export type RecordedToolRun = components['schemas']['RecordedToolRun'];
export type Repaired = components['schemas']['Repaired'];
export type RestoreContextRequest = components['schemas']['RestoreContextRequest'];
export type Resume = components['schemas']['Resume'];
export type ResumePoint = components['schemas']['ResumePoint'];
export type Revocation = components['schemas']['Revocation'];
export type SearchResponse = components['schemas']['SearchResponse'];
export type SeriesResponse = components['schemas']['SeriesResponse'];
export type SessionResponse = components['schemas']['SessionResponse'];
export type SignedIn = components['schemas']['SignedIn'];
export type Stack = components['schemas']['Stack'];
export type StatusChanged = components['schemas']['StatusChanged'];
export type Statuses = components['schemas']['Statuses'];
export type Step = components['schemas']['Step'];
export type StepStatus = components['schemas']['StepStatus'];
export type StepToRun = components['schemas']['StepToRun'];
export type StepType = components['schemas']['StepType'];
export type StoreCheck = components['schemas']['StoreCheck'];
export type StoredDialect = components['schemas']['StoredDialect'];
export type Stream = components['schemas']['Stream'];
export type StreamChunk = components['schemas']['StreamChunk'];
export type StreamEnd = components['schemas']['StreamEnd'];
export type StreamEndState = components['schemas']['StreamEndState'];
export type StreamFormat = components['schemas']['StreamFormat'];
export type StreamFormatName = components['schemas']['StreamFormatName'];
export type StreamGroup = components['schemas']['StreamGroup'];
export type StreamGroups = components['schemas']['StreamGroups'];
export type StreamProgress = components['schemas']['StreamProgress'];
export type StreamState = components['schemas']['StreamState'];
export type StreamTakeover = components['schemas']['StreamTakeover'];
export type StreamTurn = components['schemas']['StreamTurn'];
export type Streams = components['schemas']['Streams'];
export type SubmittedAnswer = components['schemas']['SubmittedAnswer'];
export type SubmittedInput = components['schemas']['SubmittedInput'];
export type Summary = components['schemas']['Summary'];
export type TakeoverMode = components['schemas']['TakeoverMode'];
export type Termination = components['schemas']['Termination'];
export type Ticket = components['schemas']['Ticket'];
export type TicketPermission = components['schemas']['TicketPermission'];
export type Time = components['schemas']['Time'];
export type TimeGroup = components['schemas']['TimeGroup'];
export type ToolCallRef = components['schemas']['ToolCallRef'];
export type ToolRun = components['schemas']['ToolRun'];
export type ToolStats = components['schemas']['ToolStats'];
export type ToolSums = components['schemas']['ToolSums'];
export type ToolUsage = components['schemas']['ToolUsage'];
export type Transcript = components['schemas']['Transcript'];
export type TurnMessage = components['schemas']['TurnMessage'];
export type TurnOutcome = components['schemas']['TurnOutcome'];
export type Unread = components['schemas']['Unread'];
export type Unsettled = components['schemas']['Unsettled'];
export type UnsettledCall = components['schemas']['UnsettledCall'];
export type Usage = components['schemas']['Usage'];
export type UsagePoint = components['schemas']['UsagePoint'];
export type UserInput = components['schemas']['UserInput'];
export type UserSeriesResponse = components['schemas']['UserSeriesResponse'];
export type UserStatsResponse = components['schemas']['UserStatsResponse'];
export type UserUsage = components['schemas']['UserUsage'];
export type UserWorkflow = components['schemas']['UserWorkflow'];
export type Variables = components['schemas']['Variables'];
export type Verdict = components['schemas']['Verdict'];
export type VersionChanged = components['schemas']['VersionChanged'];
export type Visibility = components['schemas']['Visibility'];
export type Wallet = components['schemas']['Wallet'];
export type WalletEntry = components['schemas']['WalletEntry'];
export type WorkflowAgent = components['schemas']['WorkflowAgent'];
export type WorkflowChat = components['schemas']['WorkflowChat'];
export type WorkflowStatsResponse = components['schemas']['WorkflowStatsResponse'];
export type WorkflowSummary = components['schemas']['WorkflowSummary'];
export type HeaderLocation = components['headers']['Location'];
export type HeaderSetCookie = components['headers']['Set-Cookie'];
export type HeaderWwwAuthenticate = components['headers']['WWW-Authenticate'];
export type HeaderRetryAfter = components['headers']['Retry-After'];
export type HeaderRateLimitLimit = components['headers']['RateLimit-Limit'];
export type HeaderRateLimitRemaining = components['headers']['RateLimit-Remaining'];
export type HeaderRateLimitReset = components['headers']['RateLimit-Reset'];
export type $defs = Record<string, never>;
export interface operations {
    get_agent_stats: {
        parameters: {
            query?: {
                /** @description `cost` (default), `tokens` or `calls`: those with the most come first. */
                order_by?: "cost" | "tokens" | "calls";
                /** @description Counts only the calls from the hour on that contains this moment. */
                from?: components["schemas"]["Time"];
                /** @description Counts only the calls up to the end of the hour that contains this moment. */
                to?: components["schemas"]["Time"];
                /** @description `hour` or `day`: each entry has `points`, too, one for each step from `from` to `to`. At most 10,000 points in all. */
                step?: components["schemas"]["Step"];
                /** @description The most entries to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_apps: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_holds: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_assistant_tags: {
        parameters: {
            query?: {
                /** @description Only these assistants, at most 100 ids, separated by commas. */
                ids?: string;
                /** @description Only assistants that belong to this user. */
                user_id?: components["schemas"]["Name"];
                /** @description Only assistants with one of these tags, at most 100, separated by commas. */
                tags?: string;
                /** @description Only assistants of one of these types, at most 100, separated by commas. */
                type?: string;
                /** @description Only assistants with this connector. */
                connector?: string;
                /** @description Only assistants that may be mentioned, or only others. */
                mentionable?: boolean;
                /** @description Only assistants that run without a person, or only others. */
                automated?: boolean;
                /** @description Only assistants that come with the app, or only others. */
                built_in?: boolean;
                /** @description Only assistants whose name or description, in any language, has these characters in a row, in any case. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_assistants: {
        parameters: {
            query?: {
                /** @description Only these assistants, at most 100 ids, separated by commas. */
                ids?: string;
                /** @description Only assistants that belong to this user. */
                user_id?: components["schemas"]["Name"];
                /** @description Only assistants with one of these tags, at most 100, separated by commas. */
                tags?: string;
                /** @description Only assistants of one of these types, at most 100, separated by commas. */
                type?: string;
                /** @description Only assistants with this connector. */
                connector?: string;
                /** @description Only assistants that may be mentioned, or only others. */
                mentionable?: boolean;
                /** @description Only assistants that run without a person, or only others. */
                automated?: boolean;
                /** @description Only assistants that come with the app, or only others. */
                built_in?: boolean;
                /** @description Only assistants whose name or description, in any language, has these characters in a row, in any case. */
                q?: string;
                /**
                 * @description A language tag, such as `de-AT`: the name, the description and the tags are those of `locales` for this tag, or else for
                 *     its language, or else as they are. In each of them `{{key}}` stands for the text of that key.
                 * @example de-AT
                 */
                locale?: string;
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_assistant: {
        parameters: {
            query?: {
                /**
                 * @description A language tag, such as `de-AT`: the name, the description and the tags are those of `locales` for this tag, or else for
                 *     its language, or else as they are. In each of them `{{key}}` stands for the text of that key.
                 * @example de-AT
                 */
                locale?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_chats: {
        parameters: {
            query?: {
                /**
                 * @description `mine` (default): the chats of the caller, those that they are a member of, and those that their team shares; for
                 *     the role `service`, every chat. `app`: the chats that every user of the app finds.
                 */
                scope?: "mine" | "app";
                /** @description Only chats of this workflow. */
                workflow_name?: components["schemas"]["Name"];
                /** @description Only chats of this user. */
                user_id?: components["schemas"]["Name"];
                /** @description Only chats that this user is a member of; for a user they themselves. */
                member?: components["schemas"]["Name"];
                /** @description Only chats of this team. */
                team_id?: components["schemas"]["Name"];
                /** @description Only chats with this assistant. */
                assistant_id?: components["schemas"]["Name"];
                /**
                 * @description Only chats whose title has these characters in a row, in any case.
                 * @example picnic
                 */
                title_contains?: string;
                /**
                 * @description Only chats with this value in their metadata: a key that the app has declared, a colon, and the value. Before a colon or a
                 *     backslash in the key stands a backslash.
                 * @example customer:acme
                 */
                metadata?: string;
                /** @description Only chats in one of these statuses, separated by commas: `running`, `paused`, `completed`, `failed`. */
                status?: components["schemas"]["ChatStatuses"];
                /** @description `true`: only chats with a pending input request. */
                needs_input?: boolean;
                /** @description Only chats whose last turn ended so: `completed`, `interrupted` or `failed`. */
                last_turn_outcome?: "completed" | "interrupted" | "failed";
                /** @description Only forks of this chat. */
                forked_from?: components["schemas"]["Name"];
                /** @description Only chats created at or after this time. */
                created_from?: components["schemas"]["Time"];
                /** @description Only chats created before this time. */
                created_before?: components["schemas"]["Time"];
                /** @description Only chats last active in the minute of this time or later. */
                active_from?: components["schemas"]["Time"];
                /** @description Only chats last active before the minute of this time. */
                active_before?: components["schemas"]["Time"];
                /**
                 * @description Only chats in one of these lifecycles, separated by commas: `active` (default), `archived`, `deleted`. `all` are the
                 *     active and the archived ones. With `deleted` the list has only the chats that the caller manages.
                 */
                lifecycle?: components["schemas"]["Lifecycles"];
                /**
                 * @description `created` (default): newest first by creation. `active`: newest first by last activity, which is the last message
                 *     or else the creation. Its pages may hold fewer chats. `title`: from A to Z in any case, chats without a title last.
                 *     `sort`: by `sort`, smallest first. The error of a list that is not served names those that are.
                 */
                order_by?: "created" | "active" | "title" | "sort";
                /** @description `asc` or `desc`: the direction of the list, instead of that of `order_by`. */
                order?: "asc" | "desc";
                /** @description `calls`: with `call_summary` of each chat that the caller manages. */
                summary?: "calls";
                /** @description `time`: with `time_group` of each chat, for lists by creation or activity. */
                group_by?: "time";
                /**
                 * @description The time zone of `group_by`, by its IANA name; `UTC` by default.
                 * @example Europe/Berlin
                 */
                tz?: string;
                /** @description `true`: count the chats of the whole list, in `total` or `total_is_at_least`. */
                total?: boolean;
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_chat: {
        parameters: {
            query?: {
                /** @description Whether the chat is found if it is deleted, too; a deleted one needs the permission `manage`. */
                deleted?: boolean;
                /** @description Whether the answer has the `permissions` of the caller. */
                permissions?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_calls: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    diff_context: {
        parameters: {
            query: {
                /** @description The version to start from. */
                from: number;
                /** @description The version to end with; it may be older than `from`. */
                to: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_context_versions: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listen: {
        parameters: {
            query?: {
                /**
                 * @description The last sequence that the client has, or the id of the last event; -1, the default, for none. The
                 *     header `Last-Event-ID` means the same, and has precedence.
                 * @example 41
                 */
                after?: string;
                /** @description A ticket, instead of a token, for clients that cannot set headers. */
                ticket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_history: {
        parameters: {
            query?: {
                /** @description The dialect of the messages; `ag2` by default. */
                dialect?: components["schemas"]["Dialect"];
                /**
                 * @description Only this many of the newest messages. System messages are kept and counted, and no tool call is
                 *     separated from its results.
                 */
                newest?: number;
                /** @description The name for user messages without a name; `user` by default. */
                default_user_name?: components["schemas"]["Name"];
                /**
                 * @description What to do with a message whose tool calls do not all have results directly after it: `remove`
                 *     (default) removes its calls, `settle` adds the missing results as errors, `trim` drops the message,
                 *     `reject` refuses the request with `unsettled-tool-calls`, `keep` leaves the calls open. `ag2` has no tool calls. Without this parameter, a call that
                 *     came in a `ui-message` as waiting is shown there as waiting.
                 */
                unsettled?: components["schemas"]["Unsettled"];
                /**
                 * @description Render as this agent sees the chat: its own turns are the assistant's, those of all others the user's, and only its own
                 *     calls and thinking are kept. Not for `ag2`.
                 */
                as?: components["schemas"]["Name"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_input_requests: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_input_request: {
        parameters: {
            query?: {
                /**
                 * @description At most `60s`. The response is sent when the request is closed or the wait is over.
                 * @example 30s
                 */
                wait?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_messages: {
        parameters: {
            query?: {
                /** @description Only messages after this sequence; -1 for all. */
                after?: number;
                /** @description Only messages before this sequence. */
                before?: number;
                /** @description The most messages, the oldest of the range; 100 by default, at most 1,000. */
                limit?: number;
                /** @description Return this many of the newest messages instead; not with `after` or `limit`. */
                newest?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same range and the same filters. */
                cursor?: string;
                /** @description Only messages of this role. */
                role?: string;
                /** @description Only messages of this turn. */
                request_id?: string;
                /** @description Only messages of this block. */
                block_id?: string;
                /** @description Only messages of this thread. */
                thread_id?: string;
                /** @description Only messages of this type. */
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_participants: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_resume: {
        parameters: {
            query?: {
                /** @description The dialect of the messages; `ag2` by default. */
                dialect?: components["schemas"]["Dialect"];
                /**
                 * @description Only this many of the newest messages. System messages are kept and counted, and no tool call is
                 *     separated from its results.
                 */
                newest?: number;
                /** @description The name for user messages without a name; `user` by default. */
                default_user_name?: components["schemas"]["Name"];
                /**
                 * @description What to do with a message whose tool calls do not all have results directly after it: `remove`
                 *     (default) removes its calls, `settle` adds the missing results as errors, `trim` drops the message,
                 *     `reject` refuses the request with `unsettled-tool-calls`, `keep` leaves the calls open. `ag2` has no tool calls. Without this parameter, a call that
                 *     came in a `ui-message` as waiting is shown there as waiting.
                 */
                unsettled?: components["schemas"]["Unsettled"];
                /**
                 * @description Render as this agent sees the chat: its own turns are the assistant's, those of all others the user's, and only its own
                 *     calls and thinking are kept. Not for `ag2`.
                 */
                as?: components["schemas"]["Name"];
                /**
                 * @description A message that ends with this text ends the conversation; `TERMINATE` by default.
                 * @example TERMINATE
                 */
                termination?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_resume_points: {
        parameters: {
            query?: {
                /** @description Only resume points of this turn. */
                request_id?: components["schemas"]["Name"];
                /** @description Only resume points of this call in a call stack. */
                stack_id?: components["schemas"]["Name"];
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_chunks: {
        parameters: {
            query?: {
                /**
                 * @description The number of the last write that the caller has; none for all.
                 * @example 3
                 */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_tool_runs: {
        parameters: {
            query?: {
                /** @description Only runs of this tool. */
                tool?: string;
                /** @description Only runs that succeeded, or only those that failed. */
                success?: boolean;
                /** @description Only runs that began at this time or later. */
                from?: components["schemas"]["Time"];
                /** @description Only runs that began before this time. */
                before?: components["schemas"]["Time"];
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_chat_tool_stats: {
        parameters: {
            query?: {
                /** @description Only runs that began at this time or later. */
                from?: components["schemas"]["Time"];
                /** @description Only runs that began before this time. */
                before?: components["schemas"]["Time"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    resume_ui_stream: {
        parameters: {
            query?: {
                /** @description A ticket, instead of a token, for clients that cannot set headers. */
                ticket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listen_to_documents: {
        parameters: {
            query?: {
                /** @description Only documents whose path begins with these names. */
                namespace?: components["schemas"]["DocumentPath"];
                /**
                 * @description The id of the last event that the client has. The header `Last-Event-ID` means the same, and has precedence.
                 * @example 9f552f6c1d0e8a41.7
                 */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_document_namespaces: {
        parameters: {
            query?: {
                /** @description Only documents whose path begins with these names. */
                namespace?: components["schemas"]["DocumentPath"];
                /** @description Only documents of this chat. */
                chat_id?: components["schemas"]["ChatId"];
                /** @description How many names below the namespace those of the answer have at most, 1 by default. */
                depth?: number;
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_documents: {
        parameters: {
            query?: {
                /** @description Only documents whose path begins with these names. */
                namespace?: components["schemas"]["DocumentPath"];
                /** @description Only documents of this chat. */
                chat_id?: components["schemas"]["ChatId"];
                /** @description Whether to return the contents, too: of documents of at most 1 MiB. */
                content?: boolean;
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_pending_inputs: {
        parameters: {
            query?: {
                /** @description `newest` (default) or `oldest` first, by creation. */
                order?: "newest" | "oldest";
                /** @description Whether each request has the `permissions` of the caller in its chat. */
                permissions?: boolean;
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_model_stats: {
        parameters: {
            query?: {
                /** @description `cost` (default), `tokens` or `calls`: those with the most come first. */
                order_by?: "cost" | "tokens" | "calls";
                /** @description Counts only the calls from the hour on that contains this moment. */
                from?: components["schemas"]["Time"];
                /** @description Counts only the calls up to the end of the hour that contains this moment. */
                to?: components["schemas"]["Time"];
                /** @description `hour` or `day`: each entry has `points`, too, one for each step from `from` to `to`. At most 10,000 points in all. */
                step?: components["schemas"]["Step"];
                /** @description The most entries to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    search_messages: {
        parameters: {
            query: {
                /**
                 * @description The words that a message must have, in any case, at most eight. With `*` at the end, the last one is the beginning of
                 *     a word.
                 * @example invoice jun*
                 */
                q: string;
                /** @description Only messages of this chat, in which the caller must be able to read. */
                chat_id?: components["schemas"]["ChatId"];
                /** @description Only chats of this workflow. */
                workflow_name?: components["schemas"]["Name"];
                /** @description Only chats of this user. */
                user_id?: components["schemas"]["Name"];
                /** @description `mine` (default): the chats of the caller's list. `app`: the chats that every user of the app finds. */
                scope?: "mine" | "app";
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    begin_sign_in: {
        parameters: {
            query?: {
                /**
                 * @description The path of this service to which the browser is sent afterwards; the dashboard if it is missing.
                 * @example /dashboard
                 */
                return_to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    finish_sign_in: {
        parameters: {
            query?: {
                /** @description What the service exchanges for an ID token. */
                code?: string;
                /** @description What the service has sent to the issuer. */
                state?: string;
                /** @description The issuer. */
                iss?: string;
                /** @description Why the person was not signed in. */
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_app_stats: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_chat_stats: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_workflow_series: {
        parameters: {
            query?: {
                /** @description The first point contains this moment; by default there are 24 points. */
                from?: components["schemas"]["Time"];
                /** @description The last point contains this moment; now by default. */
                to?: components["schemas"]["Time"];
                /** @description `hour` (default) or `day`. At most 1,000 points. */
                step?: components["schemas"]["Step"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    token_balance: {
        parameters: {
            query: {
                /** @description The app: 1 to 64 of `A-Z a-z 0-9 _ -`. */
                app_id: components["schemas"]["AppId"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_app_tool_stats: {
        parameters: {
            query?: {
                /** @description Only runs that began at this time or later. */
                from?: components["schemas"]["Time"];
                /** @description Only runs that began before this time. */
                before?: components["schemas"]["Time"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_user_stats: {
        parameters: {
            query?: {
                /** @description `cost` (default), `tokens` or `calls`: those with the most come first. */
                order_by?: "cost" | "tokens" | "calls";
                /** @description Counts only the calls from the hour on that contains this moment. */
                from?: components["schemas"]["Time"];
                /** @description Counts only the calls up to the end of the hour that contains this moment. */
                to?: components["schemas"]["Time"];
                /** @description `hour` or `day`: each entry has `points`, too, one for each step from `from` to `to`. At most 10,000 points in all. */
                step?: components["schemas"]["Step"];
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    get_user_series: {
        parameters: {
            query?: {
                /** @description The first point contains this moment; by default there are 24 points. */
                from?: components["schemas"]["Time"];
                /** @description The last point contains this moment; now by default. */
                to?: components["schemas"]["Time"];
                /** @description `hour` (default) or `day`. At most 1,000 points. */
                step?: components["schemas"]["Step"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_wallet_entries: {
        parameters: {
            query?: {
                /** @description The most entries of a page: 20 by default, at most 100; fewer if they are large. */
                limit?: number;
                /** @description The `next_cursor` of the previous page, asked for with the same filters. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    join: {
        parameters: {
            query?: {
                /**
                 * @description The last sequence that the client has, or the `id` of the last frame with an `id`; -1 for none. By
                 *     default a chat that is running or paused is sent from its beginning, and a chat that has ended from
                 *     its end.
                 * @example 41
                 */
                after?: string;
                /** @description A ticket, instead of a token, for clients that cannot set headers. */
                ticket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
}
