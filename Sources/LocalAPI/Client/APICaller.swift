internal import CRDTCore
package import NIOHTTP1

/// Has requests answered: by a daemon, or in this process.
package protocol APICaller: Sendable {
    /// Sends a request, and calls `read` with the answer, whose body comes as it is asked for.
    ///
    /// - Throws: ``APIConnectionError`` if the other side fails; what `read` throws.
    func exchange(_ request: APIRequest, _ read: (APIAnswer) async throws -> Void) async throws
}

/// Has requests answered as those of a program with a name.
package struct NamedCaller: APICaller {
    private let caller: any APICaller
    private let program: String

    package init(_ caller: any APICaller, program: String) { (self.caller, self.program) = (caller, program) }

    package func exchange(_ request: APIRequest, _ read: (APIAnswer) async throws -> Void) async throws {
        var request = request
        request.program = self.program
        try await self.caller.exchange(request, read)
    }
}

/// An answer whose body is still to come.
package struct APIAnswer {
    package var status: HTTPResponseStatus
    /// Returns the next piece of the body; nil behind the last.
    package var next: () async throws -> [UInt8]?

    private static let problemByteCountMax = 1 << 20

    /// Throws the problem that the answer is, if it is one.
    func requireSuccess() async throws {
        guard !(200..<300).contains(self.status.code) else { return }
        var bytes: [UInt8] = []
        while let piece = try await self.next() {
            if bytes.count < Self.problemByteCountMax { bytes += piece }
        }
        throw (try? JSON.answer(bytes, as: Problem.self))
            ?? Problem(self.status, "failed", "The answer is \(self.status) without a reason.")
    }
}

/// Why a daemon did not answer.
package enum APIConnectionError: Error, Hashable {
    /// It took the request and has shown no life for so many seconds.
    case silent(seconds: Int64)
    /// The connection ended before the answer did.
    case endedEarly
    /// The connection ended before anything was done for the request.
    case notTaken
    /// What answers is no HTTP server.
    case notUnderstood
}

extension APICaller {
    /// Sends a request, and returns the answer.
    ///
    /// - Throws: ``Problem`` if the answer is one; ``APIConnectionError`` if it is not understood.
    package func answer<Content: Answer>(
        _ request: APIRequest,
        as type: Content.Type = Content.self
    ) async throws -> Content {
        var bytes: [UInt8] = []
        try await self.pieces(request) { bytes += $0 }
        return try JSON.answer(bytes)
    }

    /// Sends a request whose answer says nothing but that it is done.
    package func send(_ request: APIRequest) async throws { try await self.pieces(request) { _ in } }

    /// Sends a request, and hands over the body of the answer as it comes.
    ///
    /// - Throws: ``Problem`` if the answer is one.
    package func pieces(_ request: APIRequest, _ take: ([UInt8]) async throws -> Void) async throws {
        // No path leads there.
        guard !request.path.contains("") else {
            let (code, advice) = ("invalid-argument", "Name what is meant.")
            throw Problem(.unprocessableEntity, code, "A name or an id is empty.", advice: advice)
        }
        try await self.exchange(request) { answer in
            try await answer.requireSuccess()
            while let piece = try await answer.next() { try await take(piece) }
        }
    }

    /// Sends a request, and hands over the lines of the answer, each with a JSON value.
    ///
    /// - Throws: ``Problem`` if the answer is one, or ends with one.
    package func lines(
        _ request: APIRequest,
        progress: (String) async throws -> Void = { _ in },
        _ take: ([UInt8]) async throws -> Void
    ) async throws {
        var request = request
        request.wantsLines = true
        var reader = LineReader(byteCountMax: LineStream.lineByteCountMax)
        try await self.pieces(request) { piece in
            reader.append(piece)
            while let line = try reader.next() {
                if line.starts(with: LineStream.progressBeginning) {
                    try await progress(try JSON.answer(line, as: ProgressLine.self).progress)
                } else if line.starts(with: LineStream.problemBeginning) {
                    throw try JSON.answer(line, as: ProblemLine.self).problem
                } else {
                    try await take(line)
                }
            }
        }
        guard reader.isEmpty else { throw APIConnectionError.endedEarly }
    }

    /// The same with what each line stands for.
    package func elements<Element: Answer>(
        _ request: APIRequest,
        _ take: (Element) async throws -> Void
    ) async throws {
        try await self.lines(request) { try await take(try JSON.answer($0)) }
    }

    /// Sends a request that may take long, and returns what it ends with.
    ///
    /// - Throws: ``Problem`` if the answer is one, or ends with one.
    package func work<Content: Answer>(
        _ request: APIRequest,
        progress: (String) async throws -> Void
    ) async throws -> Content {
        var result: [UInt8] = []
        try await self.lines(request, progress: progress) { result = $0 }
        return try JSON.answer(result)
    }
}
