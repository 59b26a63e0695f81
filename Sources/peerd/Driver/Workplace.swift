internal import Engine
internal import PeerdKit

/// Where a command's requests are carried out: by the daemon of the directory, or in this process if none runs.
enum Workplace {
    case daemon(ControlClient)
    case local(WorkspaceRuntime, Executor)

    /// Opens the workplace of a directory, and closes it behind `body`.
    ///
    /// `mayWrite`: whether one of the requests may.
    static func with<Result>(
        _ paths: DirectoryPaths,
        mayWrite: Bool,
        _ body: (inout Workplace) async throws -> Result
    ) async throws -> Result {
        try paths.requireWorkspace()
        var workplace = try await self.open(paths, mayWrite: mayWrite)
        do {
            let result = try await body(&workplace)
            await workplace.close()
            return result
        } catch {
            await workplace.close()
            throw error
        }
    }

    /// Has one request carried out and prints to standard output and error.
    mutating func perform(_ request: Request, format: OutputFormat) async throws -> Completion {
        let output = CommandOutput.standard(format)
        let completion: Completion
        switch self {
        case .daemon(var client):
            completion = try await client.perform(request, output: output)
            self = .daemon(client)
        case .local(_, let executor):
            do {
                completion = try await executor.perform(request, output: output)
            } catch {
                try await output.flush()
                throw error
            }
        }
        try await output.flush()
        return completion
    }

    /// Names an address to dial when peers are met.
    func meet(_ address: NetworkAddress) async throws {
        if case .local(let runtime, _) = self { await runtime.driver.add(address) }
    }

    private static func open(_ paths: DirectoryPaths, mayWrite: Bool) async throws -> Workplace {
        if let client = try ControlClient(paths: paths) { return .daemon(client) }
        do {
            return try await self.openLocally(paths, mayWrite: mayWrite)
        } catch let error as PeerdError where error.code == .alreadyOpen {
            // The process that has the directory may be a daemon that was just starting.
            if let client = try ControlClient(paths: paths) { return .daemon(client) }
            throw error
        }
    }

    private static func openLocally(_ paths: DirectoryPaths, mayWrite: Bool) async throws -> Workplace {
        let runtime = try await WorkspaceRuntime.openStoreAlone(paths, mayWrite: mayWrite) { notice in
            if let text = NoticeText.warning(notice) { StandardStreams.note(text) }
        }
        return .local(runtime, try Executor(runtime, at: paths, daemon: nil))
    }

    private func close() async {
        if case .local(let runtime, _) = self { await runtime.stop() }
    }
}

extension CommandOutput {
    /// Output on this process's own streams.
    static func standard(_ format: OutputFormat) -> CommandOutput {
        CommandOutput(format: format) { piece in
            switch piece {
            case .data(let bytes): try StandardStreams.output(bytes)
            case .qrCode(let text): try StandardStreams.draw(qrCodeOf: text)
            case .progress(let text): StandardStreams.progress(text)
            case .note(let text): StandardStreams.note(text)
            }
        }
    }
}
