internal import CRDTCore
internal import Engine
internal import Foundation
internal import Persistence

/// The findings of a check of a workspace.
public struct Diagnosis: Hashable, Sendable, Codable {
    /// The severities of findings.
    public enum Level: String, Hashable, Sendable, Codable {
        /// Nothing is wrong.
        case ok
        /// Something needs attention; no data is in danger.
        case warning
        /// Data is in danger, or is not exchanged.
        case problem
    }

    /// The result of one of the checks.
    public struct Finding: Hashable, Sendable, Codable {
        /// The severity.
        public let level: Level
        /// The thing that was checked, in a word.
        public let subject: String
        /// The result as a sentence without a full stop.
        public let detail: String
        /// The way out, as a sentence without a full stop; nil if there is nothing to do.
        public let advice: String?
    }

    /// The results, in the order of the checks.
    public private(set) var findings: [Finding] = []

    /// Tells whether there is no finding of level ``Level/problem``.
    public var isHealthy: Bool { !self.findings.contains { $0.level == .problem } }

    package mutating func add(_ level: Level, _ subject: String, _ detail: String, _ advice: String? = nil) {
        self.findings.append(Finding(level: level, subject: subject, detail: detail, advice: advice))
    }

    private static let restoreAdvice =
        "export what you have, then restore the data directory from a backup or join again"
}

extension Workspace {
    /// Checks the files, the database, every change and signature, and the state against the log.
    ///
    /// Writes and the sync continue meanwhile. Nothing is changed.
    ///
    /// - Parameter progress: a function that is called with a description of each step that may take long.
    /// - Returns: the findings, good ones included.
    /// - Throws: ``PeerdError`` if the workspace is closed or the database cannot be read at all; the error of
    ///   `progress`.
    /// - Complexity: O(*n* log *n*) in the operations of the log. The state is rebuilt from it on the disk of the
    ///   workspace, which must have room.
    public func diagnose(progress: ((String) async throws -> Void)? = nil) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        try self.requireOpen()
        diagnosis.checkFiles(self.paths)
        try await diagnosis.checkContent(nil, self.readers, of: self.paths, progress)
        // What was looked at would be of two workspaces.
        try self.requirePlace()
        return diagnosis
    }
}

extension Diagnosis {
    /// Checks a database: the file, every change and signature, and the state against the log.
    ///
    /// `identity`: to whom it belongs; nil if the key file says it.
    mutating func checkContent(
        _ known: Workspace.Identity?,
        _ readers: ReadPool,
        of paths: DirectoryPaths,
        _ progress: ((String) async throws -> Void)?
    ) async throws {
        do {
            self.checkDatabase(try await readers.read { transaction in try transaction.damages() })
            let (hasUnlistedName, hasUnlistedPlace, holdsErasedBytes) = try await readers.read { transaction in
                (
                    try transaction.hasUnlistedName(), try transaction.hasUnlistedPlace(),
                    try transaction.holdsErasedBytes()
                )
            }
            self.checkNames(hasUnlisted: hasUnlistedName)
            self.checkPlaces(hasUnlisted: hasUnlistedPlace)
            self.checkErasures(holdsErasedBytes: holdsErasedBytes)
        } catch StoreError.damaged(let reason) {
            return self.checkDatabase([PeerdError(StoreError.damaged(reason)).message])
        } catch let error as StoreError {
            throw PeerdError(error)
        }
        try await self.checkLog(known, readers, paths, progress)
        self.check(try await readers.read { transaction in Crowd.all(in: transaction) })
        let incomplete = try await readers.read { transaction in
            try transaction.incompleteProperties(limit: .max).map { key in
                "\(try transaction.name(key.name)) of \(try transaction.object(key.object).id)"
            }
        }
        self.check(incomplete: Set(incomplete).sorted())
    }

    private mutating func checkLog(
        _ known: Workspace.Identity?,
        _ readers: ReadPool,
        _ paths: DirectoryPaths,
        _ progress: ((String) async throws -> Void)?
    ) async throws {
        do {
            let identity = try known ?? Workspace.Identity(paths)
            self.add(.ok, "keys", "the key file can be read")
            self.check(try await readers.read { transaction in try Standing(of: identity, in: transaction) })
            let replay = try Self.replay(identity, in: paths.directory)
            let schema = try await readers.read { transaction in try transaction.schema() }
            self.check(schema, beside: try replay.newSchema())
            try await progress?("rebuilding the state from the log")
            while try await !readers.read({ transaction in try replay.advance(from: &transaction) }) {}
            self.add(.ok, "log", "every change follows its predecessor, and every signature is valid")
            let isEqual = try await readers.read { transaction in try replay.isEqual(to: &transaction) }
            self.checkState(isEqual: isEqual)
        } catch let failure as LogReplay.CopyFailure {
            self.checkCopy(failure: PeerdError(failure.cause))
        } catch let error as StoreError {
            self.checkStore(failure: PeerdError(error))
        } catch let error as PeerdError {
            self.checkStore(failure: error)
        }
        try await progress?("")
    }

    /// Whether others take what this device writes.
    enum Standing {
        case good
        /// It was certified anew since its keys were written.
        case outdated
        case removed

        init(of identity: Workspace.Identity, in store: some StoreTransaction) throws(StoreError) {
            let own = store.segmentIndices.compactMap { store.segment($0).introduction }
                .filter { $0.device == identity.device }
            let generation = own.compactMap { ChainAuthor($0)?.generation }.max() ?? 0
            var rows: any StoreTransaction = store
            let rights = try rows.judgedRights(founder: identity.founder)
            let roster = rows.circles.index(of: .roster).flatMap { rights.rights(in: $0) }
            if let author = identity.author, author.generation < generation {
                self = .outdated
            } else if let author = identity.author, roster?.isRemoved(author) ?? false {
                self = .removed
            } else {
                self = .good
            }
        }
    }

    private static func replay(_ identity: Workspace.Identity, in directory: String) throws -> LogReplay {
        do throws(StoreError) {
            return try LogReplay(identity, in: directory)
        } catch {
            throw LogReplay.CopyFailure(cause: error)
        }
    }
}

extension Diagnosis {
    fileprivate mutating func checkDatabase(_ damages: [String]) {
        if damages.isEmpty { return self.add(.ok, "database", "SQLite reports no damage") }
        let detail = "SQLite reports damage: \(damages.joined(separator: "; "))"
        self.add(.problem, "database", detail, Self.restoreAdvice)
    }

    /// Says nothing if all is well: what is wrong here is wrong for readers of SQL alone.
    fileprivate mutating func checkNames(hasUnlisted: Bool) {
        guard hasUnlisted else { return }
        let detail = "programs that read the tables do not find some properties: \"name_block\" lacks rows"
        self.add(.problem, "tables", detail, Self.restoreAdvice)
    }

    /// Says nothing if all is well.
    fileprivate mutating func check(_ standing: Standing) {
        let advice = "run \"peerd recover\" with your recovery words"
        switch standing {
        case .good: break
        case .outdated:
            self.add(.warning, "keys", "these keys are from before this machine was recovered", advice)
        case .removed:
            self.add(.warning, "keys", "this machine was removed by another one: nobody counts what it writes", advice)
        }
    }

    /// Says nothing if all is well, as it is but for seconds.
    fileprivate mutating func checkErasures(holdsErasedBytes: Bool) {
        guard holdsErasedBytes else { return }
        let advice = "end programs that read the database for long; a daemon tries again every few seconds"
        self.add(.warning, "erasures", "the files of the database may hold bytes of erased values still", advice)
    }

    /// Says nothing if all is well: what is wrong here is wrong for who reads the past.
    fileprivate mutating func checkPlaces(hasUnlisted: Bool) {
        guard hasUnlisted else { return }
        let detail = "the root of an earlier state may lack objects: \"unplaced\" lacks rows"
        self.add(.problem, "tables", detail, Self.restoreAdvice)
    }

    /// What is missing, or runs beside a write, can spoil the data; what somebody else reads or keeps there cannot.
    fileprivate mutating func check(_ schema: Set<[String]>, beside new: Set<[String]>) {
        func names(_ entries: some Sequence<[String]>) -> String {
            let all = Set(entries.map { "\($0[0]) \($0[1])" }).sorted()
            let more = all.count > 3 ? " and \(all.count - 3) more" : ""
            return all.prefix(3).joined(separator: ", ") + more
        }
        let (missing, foreign) = (new.subtracting(schema), schema.subtracting(new))
        let triggers = foreign.filter { $0[0] == "trigger" }
        if !missing.isEmpty {
            let detail = "the database lacks what peerd makes, or has it changed: \(names(missing))"
            self.add(.problem, "tables", detail, Self.restoreAdvice)
        }
        if !triggers.isEmpty {
            let detail = "the database has what peerd does not make, and what changes data: \(names(triggers))"
            self.add(.problem, "tables", detail, "drop it with sqlite3 while no daemon runs")
        }
        let others = foreign.subtracting(triggers)
        if missing.isEmpty, foreign.isEmpty {
            return self.add(.ok, "tables", "the database has the tables that peerd makes")
        }
        guard !others.isEmpty else { return }
        let detail = "the database has what peerd does not make: \(names(others))"
        self.add(.warning, "tables", detail, "drop it with sqlite3 if it is not yours")
    }

    fileprivate mutating func checkState(isEqual: Bool) {
        if isEqual { return self.add(.ok, "state", "the state agrees with the log") }
        self.add(.problem, "state", "the state differs from the log", Self.restoreAdvice)
    }

    fileprivate mutating func checkStore(failure: PeerdError) {
        let advice = "restore the data directory from a backup, or join again"
        self.add(.problem, "store", failure.message, advice)
    }

    /// Reports that the state could not be rebuilt, which is no fault of the workspace.
    fileprivate mutating func checkCopy(failure: PeerdError) {
        let detail = "the state was not compared with the log, because a copy could not be written: \(failure.message)"
        let advice = "let doctor write to the data directory, which needs room, or run it on a copy of that"
        self.add(.warning, "state", detail, advice)
    }

    fileprivate mutating func checkFiles(_ paths: DirectoryPaths) {
        let expected: [(String, mode_t)] = [
            (paths.directory, PrivateFile.directoryMode), (paths.keys, PrivateFile.fileMode),
            (paths.token, PrivateFile.fileMode), (paths.database, PrivateFile.fileMode),
            (paths.socket, PrivateFile.fileMode), (paths.api, PrivateFile.fileMode),
        ]
        var isPrivate = true
        for (path, mode) in expected {
            guard let actual = PrivateFile.mode(of: path), actual & ~mode != 0 else { continue }
            isPrivate = false
            self.add(
                .problem,
                "permissions",
                "\(path) is accessible to other users (mode \(String(actual, radix: 8)))",
                "run: chmod \(String(mode, radix: 8)) \(path)"
            )
        }
        self.checkKeptFiles(paths)
        if isPrivate { self.add(.ok, "permissions", "only you can access \(paths.directory)") }
    }

    /// Says nothing if no log of the database was ever found damaged, or its files were looked at and taken away.
    private mutating func checkKeptFiles(_ paths: DirectoryPaths) {
        for copy in DamagedFiles.kept(in: paths.directory) {
            let detail =
                "it was found damaged, and writes may be missing here; the files as they were: \(copy), \(copy)-wal"
            let advice = """
                sync with all machines, compare with them or with a backup, then move the two files away; they hold \
                what was erased since, too
                """
            self.add(.problem, "write-ahead log", detail, advice)
        }
    }

    /// Reports properties of which a value is in force or in conflict that has not come here.
    fileprivate mutating func check(incomplete properties: [String]) {
        guard !properties.isEmpty else { return }
        let more = properties.count > 3 ? " and \(properties.count - 3) more" : ""
        let names = properties.prefix(3).joined(separator: ", ") + more
        self.add(
            .warning,
            "content",
            "values are missing here, and asked for from peers: \(names)",
            "sync with all machines; if it stays, no machine has the values: restore them from a backup, or write them"
        )
    }

    /// Reports devices that opened many chains: each costs every member a little for ever, and none can be refused.
    fileprivate mutating func check(_ crowds: [Crowd]) {
        for crowd in crowds {
            let name = crowd.deviceName
            let who = crowd.isByOthers ? "devices that \(name) vouches for have" : "\(name) has"
            self.add(
                .warning,
                "chains",
                "\(who) opened \(crowd.segmentCount) chains and forks",
                "find out what runs there, and stop it"
            )
        }
    }
}
