import CRDTCore
import Foundation
import Persistence
import SyncProtocol

/// The things that are measured; each is one process, so that none finds the heap as another left it.
struct Measurement {
    let base: RunFile
    let news: RunFile
    private let membership: Membership
    private let origin: Hash256

    init(base: RunFile, news: RunFile) {
        let founder = Founder()
        self.base = base
        self.news = news
        self.membership = founder.membership
        self.origin = founder.origin
    }

    /// Merges the news into a store in memory.
    func memory() throws -> Report {
        var store = MemoryStore(origin: self.origin)
        _ = try self.merge([self.base], into: &store)
        let start = Report.processorTime
        let intake = try self.merge([self.news], into: &store)
        var report = Report(intake, timing: intake.timing)
        report.add("processor_seconds", (Report.processorTime - start).seconds)
        return report
    }

    /// Merges nothing but the base into a store in memory.
    func baseInMemory() throws -> Report {
        var store = MemoryStore(origin: self.origin)
        let intake = try self.merge([self.base], into: &store)
        return Report(intake, timing: intake.timing)
    }

    /// Makes a database of the base.
    func fill(directory: String) throws -> Report {
        var store = try SQLiteStore(directory: directory, origin: self.origin)
        let intake = try self.merge([self.base], into: &store)
        store.close()
        return Report(intake, timing: intake.timing)
    }

    /// Merges the news into a database that has the base, in one transaction, with the commit.
    ///
    /// What the first transaction finds of all that is there is found before the clock starts, as in a running daemon.
    func continuing(directory: String) throws -> Report {
        var store = try SQLiteStore(directory: directory, origin: self.origin)
        let opening = try ContinuousClock().measure { _ = try self.merge([], into: &store) }
        var intake = Intake(membership: self.membership)
        let start = Report.processorTime
        let whole = try ContinuousClock().measure { intake = try self.merge([self.news], into: &store) }
        let processor = Report.processorTime - start
        var timing = intake.timing
        timing.merging = whole - timing.decoding - timing.verifying
        store.close()
        var report = Report(intake, timing: timing)
        report.add("processor_seconds", processor.seconds)
        report.add("opening_seconds", opening.seconds)
        return report
    }

    /// Merges the news into a database in one transaction, with the commit.
    ///
    /// If `wholly`, the base is part of it, rather than there before the clock starts.
    func durable(directory: String, wholly: Bool) throws -> Report {
        var store = try SQLiteStore(directory: directory, origin: self.origin)
        if !wholly {
            _ = try self.merge([self.base], into: &store)
            // What filling the database leaves behind, a write-ahead log of its size, is no cost of the news.
            store.close()
            store = try SQLiteStore(directory: directory, origin: self.origin)
        }
        var intake = Intake(membership: self.membership)
        let files = wholly ? [self.base, self.news] : [self.news]
        let whole = try ContinuousClock().measure { intake = try self.merge(files, into: &store) }
        var timing = intake.timing
        // What is neither decoding nor verifying is the store's: statements, commit, and moving the log into the file.
        timing.merging = whole - timing.decoding - timing.verifying
        let digest = try self.digest(of: &store)
        store.close()
        var report = Report(intake, timing: timing)
        report.add("digest_seconds", digest.duration.seconds)
        report.add("digest_step_seconds", digest.duration.seconds / Double(digest.stepCount))
        report.add("database_bytes", Double(RunFile(path: directory + "/" + SQLiteStore.fileName).byteCount))
        return report
    }

    /// Reads all of a store for its digest, in the steps in which a node does.
    private func digest<Store: ReplicaStore & ~Copyable>(
        of store: inout Store
    ) throws -> (duration: Duration, stepCount: Int) {
        var (digest, stepCount, isCurrent) = (SettledDigest(), 0, false)
        let duration = try ContinuousClock().measure {
            while !isCurrent {
                stepCount += 1
                isCurrent = try store.read { transaction throws(StoreError) in
                    _ = try digest.step(upTo: Self.digestStepCost, in: &transaction, SodiumCryptography())
                    return digest.isCurrent(in: transaction)
                }
            }
        }
        return (duration, stepCount)
    }

    /// Objects and properties that a node looks at in one step.
    private static let digestStepCost = 1000

    /// Commits each change of the news by itself.
    func transactions(directory: String) throws -> Report {
        var store = try SQLiteStore(directory: directory, origin: self.origin)
        _ = try self.merge([self.base], into: &store)
        let pieces = try self.news.messages()
        var intake = Intake(membership: self.membership)
        let whole = try ContinuousClock().measure {
            for piece in pieces { try self.take([piece], &intake, into: &store) }
        }
        var timing = intake.timing
        timing.merging = whole - timing.decoding - timing.verifying
        store.close()
        return Report(intake, timing: timing)
    }

    private func merge<Store: ReplicaStore & ~Copyable>(_ files: [RunFile], into store: inout Store) throws -> Intake {
        var intake = Intake(membership: self.membership)
        let result = try store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            Result {
                for file in files { try file.forEachPiece { try intake.take($0, in: &transaction) } }
                try intake.finish(in: &transaction)
            }
        }
        try result.get()
        return intake
    }

    private func take<Store: ReplicaStore & ~Copyable>(
        _ pieces: [[UInt8]],
        _ intake: inout Intake,
        into store: inout Store
    ) throws {
        let result = try store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            Result {
                for piece in pieces { try intake.take(piece, in: &transaction) }
                try intake.finish(in: &transaction)
            }
        }
        try result.get()
    }
}

/// One line of JSON for the script that makes the table.
struct Report {
    private var fields: [(name: String, value: Double)] = []

    init(_ intake: Intake, timing: Timing) {
        self.add("operations", Double(intake.operationCount))
        self.add("decode_seconds", timing.decoding.seconds)
        self.add("verify_seconds", timing.verifying.seconds)
        self.add("merge_seconds", timing.merging.seconds)
        self.add("seconds", timing.total.seconds)
        self.add("revised", intake.isRevised ? 1 : 0)
        self.add("peak_memory_bytes", Double(Report.peakMemoryByteCount))
    }

    mutating func add(_ name: String, _ value: Double) { self.fields.append((name, value)) }

    var line: String {
        "{" + self.fields.map { "\"\($0.name)\": \($0.value)" }.joined(separator: ", ") + "}"
    }

    /// What this process has used of a processor.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static var peakMemoryByteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1024 } ?? 0
    }
}
