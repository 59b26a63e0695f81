internal import CRDTCore
internal import Engine
internal import Foundation
internal import Persistence

/// What was found to be wrong with a workspace, and right.
public struct Diagnosis: Hashable, Sendable, Codable {
    /// How bad something is.
    public enum Level: String, Hashable, Sendable, Codable {
        /// All is well.
        case ok
        /// Something to know, or to do.
        case warning
        /// Data is in danger, or not exchanged.
        case problem
    }

    /// One thing that was looked at.
    public struct Finding: Hashable, Sendable, Codable {
        /// How bad it is.
        public let level: Level
        /// What was looked at, in a word.
        public let subject: String
        /// What was found, as a sentence without a full stop.
        public let detail: String
        /// What to do; nil if there is nothing to do.
        public let advice: String?
    }

    /// All that was looked at.
    public private(set) var findings: [Finding] = []

    /// Whether there is no problem; warnings do not count.
    public var isHealthy: Bool { !self.findings.contains { $0.level == .problem } }

    package mutating func add(_ level: Level, _ subject: String, _ detail: String, _ advice: String? = nil) {
        self.findings.append(Finding(level: level, subject: subject, detail: detail, advice: advice))
    }

    private static let restoreAdvice =
        "export what you have, then restore the data directory from a backup or join again"
}

extension Workspace {
    /// Checks the files, the database, every change and signature, and that the state is what the log says.
    ///
    /// - Parameter progress: called with what is being done, where it may take long.
    /// - Returns: what was found.
    /// - Throws: ``PeerdError`` if the database cannot be read at all; what `progress` throws.
    /// - Complexity: O(*n* log *n*) in the operations of the log, with the state computed from it in memory; whoever
    ///   writes or syncs goes on meanwhile.
    public func diagnose(progress: ((String) async throws -> Void)? = nil) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        try self.requireOpen()
        diagnosis.checkFiles(self.paths)
        let damages = try await self.reading { transaction in try transaction.damages() }
        diagnosis.checkDatabase(damages)
        try await self.checkLog(&diagnosis, progress)
        diagnosis.check(try await self.reading { transaction in Crowd.all(in: transaction) })
        return diagnosis
    }

    private func checkLog(
        _ diagnosis: inout Diagnosis,
        _ progress: ((String) async throws -> Void)?
    ) async throws {
        do {
            let identity = try Identity(self.paths)
            diagnosis.add(.ok, "keys", "the key file can be read")
            let replay = LogReplay(origin: identity.origin, membership: identity.membership)
            try await progress?("computing the state anew from the log")
            while try await !self.reading({ transaction in try replay.advance(from: &transaction) }) {}
            diagnosis.add(.ok, "log", "every change follows the one before, and every signature holds")
            let isEqual = try await self.reading { transaction in try replay.isEqual(to: &transaction) }
            diagnosis.checkState(isEqual: isEqual)
        } catch let error as PeerdError {
            diagnosis.checkStore(failure: error)
        }
        try await progress?("")
    }
}

extension Diagnosis {
    fileprivate mutating func checkDatabase(_ damages: [String]) {
        if damages.isEmpty { return self.add(.ok, "database", "SQLite finds the file sound") }
        let detail = "SQLite finds the file damaged: \(damages.joined(separator: "; "))"
        self.add(.problem, "database", detail, Self.restoreAdvice)
    }

    fileprivate mutating func checkState(isEqual: Bool) {
        if isEqual { return self.add(.ok, "state", "the state is what the log says") }
        self.add(.problem, "state", "the state is not what the log says", Self.restoreAdvice)
    }

    fileprivate mutating func checkStore(failure: PeerdError) {
        let advice = "restore the data directory from a backup, or join again"
        self.add(.problem, "store", failure.message, advice)
    }

    fileprivate mutating func checkFiles(_ paths: DirectoryPaths) {
        let expected: [(String, mode_t)] = [
            (paths.directory, PrivateFile.directoryMode), (paths.keys, PrivateFile.fileMode),
            (paths.token, PrivateFile.fileMode), (paths.database, PrivateFile.fileMode),
            (paths.socket, PrivateFile.fileMode),
        ]
        var isPrivate = true
        for (path, mode) in expected {
            guard let actual = PrivateFile.mode(of: path), actual & ~mode != 0 else { continue }
            isPrivate = false
            self.add(
                .problem,
                "permissions",
                "\(path) may be used by others (mode \(String(actual, radix: 8)))",
                "run: chmod \(String(mode, radix: 8)) \(path)"
            )
        }
        if isPrivate { self.add(.ok, "permissions", "only you may use \(paths.directory)") }
    }

    /// Each chain and each branch costs everyone a little for ever, and nobody can refuse one that others have.
    fileprivate mutating func check(_ crowds: [Crowd]) {
        for crowd in crowds {
            let name = crowd.deviceName
            let who = crowd.isByOthers ? "devices that \(name) vouches for have" : "\(name) has"
            self.add(
                .warning,
                "chains",
                "\(who) opened \(crowd.lineCount) chains and branches",
                "find out what runs there, and stop it"
            )
        }
    }
}
