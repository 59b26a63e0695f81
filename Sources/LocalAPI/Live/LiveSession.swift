internal import CRDTCore
internal import Engine
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket
internal import PeerdKit
internal import Persistence
internal import Synchronization

/// The conversation on one WebSocket: subscriptions, and writes.
///
/// The messages are described in `/api/asyncapi.json`.
final class LiveSession: Sendable {
    private let service: APIService
    private let socket: LiveSocket
    private let isLetIn: Bool
    /// Told once the client has shown that it may use the API.
    private let letIn: @Sendable () -> Void
    /// One subscription reads and sends at a time, so that no more than one message waits for a slow client.
    private let turns = Turns(1)
    /// The subscriptions by the id that the client chose.
    private let subscriptions = Mutex<[Int: Credit]>([:])

    private static let authenticationPatience = Duration.seconds(10)
    /// How long a status lasts at least, and how long until it is looked at again if nothing happens.
    private static let statusInterval = Duration.milliseconds(250)
    private static let statusPatience = Duration.seconds(20)
    private static let creditInitially = 16

    init(_ service: APIService, _ socket: LiveSocket, isLetIn: Bool, letIn: @escaping @Sendable () -> Void) {
        self.service = service
        self.socket = socket
        self.isLetIn = isLetIn
        self.letIn = letIn
    }

    private var workspace: Workspace { self.service.workspace }

    /// Talks until the connection ends.
    func run(_ inbox: BodyPieces) async {
        let deadline = Task {
            try await Task.sleep(for: Self.authenticationPatience)
            if !self.isLetIn { self.socket.close(.unknown(4401)) }
        }
        defer { deadline.cancel() }
        do {
            if !self.isLetIn {
                guard try await self.authenticate(inbox) else { return self.socket.close(.unknown(4401)) }
                deadline.cancel()
            }
            self.letIn()
            try await self.greet()
            try await withThrowingDiscardingTaskGroup { group in
                defer {
                    for credit in self.subscriptions.withLock({ Array($0.values) }) { credit.end() }
                    group.cancelAll()
                }
                while let bytes = try await inbox.next() {
                    switch JSON.parse(bytes, depthMax: JSON.depthMax + RequestedEdit.valueDepth, numbers: .unchanged) {
                    case .success(let json): try await self.handle(json, &group)
                    case .failure(let failure):
                        let problem = Problem(failure, in: "The message", depthMax: JSON.depthMax)
                        try await self.send(problem, id: .null)
                        return self.socket.close(.unacceptableData)
                    }
                }
            }
        } catch {
            self.socket.channel.close(promise: nil)
        }
    }

    private func authenticate(_ inbox: BodyPieces) async throws -> Bool {
        guard let bytes = try await inbox.next(), case .object(let members)? = JSON(parsing: bytes) else {
            return false
        }
        return members["type"]?.text == "auth" && members["bearer"]?.text.map(self.service.isToken) ?? false
    }

    private func greet() async throws {
        let status = try await self.workspace.nodeStatus()
        let (version, workspace) = (self.service.server.version, status.workspace.description)
        try await self.send(Hello(version: version, workspace: workspace, deviceName: status.deviceName))
    }

    private func handle(_ json: JSON, _ group: inout ThrowingDiscardingTaskGroup<any Error>) async throws {
        var id: JSON { if case .object(let members) = json { members["id"] ?? .null } else { .null } }
        do {
            let (members, id) = (try Members(json, of: "A message"), id)
            let type = try members.requiredText("type")
            if let names = Self.memberNames[type] { try members.requireOnly(names.union(["type"])) }
            switch type {
            case "auth": break
            case "ping": try await self.send(Pong())
            case "credit":
                let count = try members.number("add", in: 1...APILimits.creditMax) ?? 1
                self.subscriptions.withLock { $0[Self.number(id)] }?.add(count)
            case "unsubscribe": self.end(Self.number(id))
            case "write": try await self.write(members)
            case "subscribe":
                let scope = try await self.scope(members["scope"])
                let since = try members.text("since")
                if since == "now" {
                    let (changes, token) = try await self.workspace.changesFromNow(of: scope)
                    return try self.start(id, members, &group) { credit in
                        guard await credit.use() else { return }
                        let nothing = DeltaAnswer(nothingSince: token.description)
                        try await self.send(Joined(nothing, MessageHead(type: "delta", id: Self.number(id))))
                        try await self.follow(changes, id, credit)
                    }
                }
                let changes = try self.workspace.changes(of: scope, since: since.map { try ChangeToken($0) })
                try self.start(id, members, &group) { credit in try await self.follow(changes, id, credit) }
            case "live":
                let query = try await ObjectQuery.read(members["query"] ?? .object([:]), in: self.workspace)
                let limit = try members.number("limit", in: 1...APILimits.pageCountMax)
                let pages = self.workspace.live(query, limit: limit ?? APILimits.pageCount)
                try self.start(id, members, &group) { credit in try await self.follow(pages, id, credit) }
            case "watch":
                guard try members.requiredText("what") == "status" else {
                    throw Problem.badRequest("“status” is all that can be watched.")
                }
                try self.start(id, members, &group) { credit in try await self.watch(id, credit) }
            default: throw Problem.badRequest("There is no message of the type “\(type)”.")
            }
        } catch let error where !(error is CancellationError) && self.socket.channel.isActive {
            try await self.send(Problem(error), id: id)
        }
    }

    /// The members of the messages by their types.
    private static let memberNames: [String: Set<String>] = [
        "auth": ["bearer"],
        "ping": [],
        "credit": ["id", "add"],
        "unsubscribe": ["id"],
        "write": ["id", "edits", "if", "program", "action"],
        "subscribe": ["id", "scope", "since", "credit"],
        "live": ["id", "query", "limit", "credit"],
        "watch": ["id", "what", "credit"],
    ]

    // MARK: - Subscriptions

    private static func number(_ id: JSON) -> Int {
        if case .int(let number) = id { Int(clamping: number) } else { -1 }
    }

    /// Starts to send what a subscription asks for, until it is ended.
    private func start(
        _ id: JSON,
        _ members: Members,
        _ group: inout ThrowingDiscardingTaskGroup<any Error>,
        _ body: @escaping @Sendable (Credit) async throws -> Void
    ) throws {
        let number = Self.number(id)
        guard number >= 0 else { throw Problem.badRequest("A subscription needs an “id”, a number from 0.") }
        let credit = Credit(try members.number("credit", in: 0...APILimits.creditMax) ?? Self.creditInitially)
        try self.subscriptions.withLock { subscriptions throws(Problem) in
            if subscriptions[number] != nil { throw .badRequest("The subscription \(number) is there already.") }
            guard subscriptions.count < APILimits.subscriptionCountMax else {
                throw Problem(
                    .tooManyRequests,
                    "too-many-requests",
                    "A connection has at most \(APILimits.subscriptionCountMax) subscriptions.",
                    advice: "End some."
                )
            }
            subscriptions[number] = credit
        }
        group.addTask {
            defer { self.end(number, credit) }
            do {
                // The sequences wait for changes, so whoever ends a subscription has to cancel that.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await body(credit) }
                    group.addTask { await credit.waitForEnd() }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            } catch let error where !(error is CancellationError) && self.socket.channel.isActive {
                try await self.send(Problem(error), id: id)
            }
        }
    }

    private func end(_ number: Int) { self.subscriptions.withLock { $0.removeValue(forKey: number) }?.end() }

    /// Forgets a subscription that has ended, and not one that has taken its number meanwhile.
    private func end(_ number: Int, _ credit: Credit) {
        self.subscriptions.withLock { if $0[number] === credit { $0[number] = nil } }
        credit.end()
    }

    private func follow(_ changes: Changes, _ id: JSON, _ credit: Credit) async throws {
        var iterator = changes.makeAsyncIterator()
        while await credit.use(), let delta = try await iterator.next(in: self.turns) {
            defer { self.turns.end() }
            try await self.send(Joined(DeltaAnswer(delta), MessageHead(type: "delta", id: Self.number(id))))
        }
    }

    private func follow(_ pages: LivePages, _ id: JSON, _ credit: Credit) async throws {
        var iterator = pages.makeAsyncIterator()
        while await credit.use(), let page = try await iterator.next(in: self.turns) {
            defer { self.turns.end() }
            let objects = page.objects.map { ObjectAnswer($0) }
            try await self.send(LivePage(id: Self.number(id), objects: objects, more: page.next != nil))
        }
    }

    private func watch(_ id: JSON, _ credit: Credit) async throws {
        var last: StatusAnswer?
        var known: (counts: WorkspaceCounts, mark: ReadMark?)?
        while await credit.use() {
            while true {
                let eventCount = await self.workspace.eventCount()
                let counted = try await self.workspace.counts(unlessUnchangedSince: known)
                let status = try await self.workspace.status(self.service.server, counted.counts)
                known = counted
                if status != last {
                    last = status
                    try await self.send(LiveStatus(id: Self.number(id), status: status))
                    try await Task.sleep(for: Self.statusInterval)
                    break
                }
                await self.workspace.waitForEvent(beyond: eventCount, atMost: Self.statusPatience)
                try await Task.sleep(for: Self.statusInterval)
            }
        }
    }

    private func scope(_ json: JSON?) async throws -> Scope {
        let members = try Members(json ?? .null, of: "A scope")
        try members.requireOnly(["object", "subtree", "query", "all"])
        if let object = try members.text("object") {
            return .object(try await ObjectLookup.id(object, in: self.workspace))
        }
        if let top = try members.text("subtree") {
            return .subtree(try await ObjectLookup.id(top, in: self.workspace))
        }
        if let query = members["query"] { return .query(try await ObjectQuery.read(query, in: self.workspace)) }
        guard try members.flag("all") else {
            throw Problem.badRequest("A scope has one of “object”, “subtree”, “query” and “all”.")
        }
        return .everything
    }

    // MARK: - Writing

    /// Carries out a write, and says so when it is on the disk.
    ///
    /// Writes of a connection are carried out in the order in which they come.
    private func write(_ members: Members) async throws {
        let name = try members.requiredText("id")
        let (program, action) = (try members.text("program"), try members.text("action"))
        let running = try self.service.actions.action(named: action, by: program)
        let write = try IdempotentWrite(name, members)
        let created = try await running.perform { try await write.write(to: self.workspace) }
        try await self.send(Acknowledgement(id: name, created: created.map(\.description)))
    }

    private func send(_ problem: Problem, id: JSON) async throws {
        try await self.send(LiveProblem(id: id, problem: problem))
    }

    private func send(_ message: some Encodable) async throws {
        try await self.socket.send(JSON(message).bytes)
    }
}
