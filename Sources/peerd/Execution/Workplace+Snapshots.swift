internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit

/// The verbs of snapshots.
extension Workplace {
    func takeSnapshot(of object: String, name: String?) async throws {
        let object = JSON.string(try ObjectArgument.checked(object))
        let members: [ExactText: JSON?] = ["object": object, "name": name.map { .string($0) }]
        let branch = [("branch", try await self.currentBranch?.description)]
        let request = APIRequest(.post, "api", "snapshots", query: branch, body: members)
        let snapshot: SnapshotAnswer = try await self.caller.answer(request)
        try self.output.show(snapshot, snapshot.id)
    }

    func listSnapshots(of object: String?) async throws {
        let object = try object.map { try ObjectArgument.checked($0) }
        let request = APIRequest(.get, "api", "snapshots", query: [("object", object)])
        let snapshots = try await self.caller.answer(request, as: SnapshotList.self).snapshots
        if self.output.isJSON { return try self.output.json(snapshots) }
        try self.output.table(snapshots.map { Self.row($0) })
    }

    func showSnapshot(_ snapshot: String) async throws {
        let bytes = try await self.content(of: snapshot)
        if self.output.isJSON { return try self.output.write(bytes) }
        let content = try SnapshotContent(parsing: bytes)
        if let name = content.name { try self.output.line(name) }
        let places = content.inTreeOrder
        var drawing = TreeDrawing(self.output, beginsWithTop: true)
        let isLast = Self.lastAmongSiblings(places.map(\.depth))
        for (place, entry) in places.enumerated() {
            try drawing.add(ObjectSummary(entry.element), depth: entry.depth, isLast: isLast[place])
        }
    }

    func restoreSnapshot(_ snapshot: String) async throws {
        let (id, branch) = (try ObjectArgument.checked(snapshot), try await self.branchQuery)
        let request = APIRequest(.post, "api", "snapshots", id, "restore", query: branch)
        let result: SnapshotRestorationAnswer = try await self.work(request)
        if self.output.isJSON { return try self.output.json(result) }
        if result.transactions == 0 {
            try self.output.line("Nothing differs from the snapshot; nothing was written.")
        } else {
            try self.output.line(
                "restored: \(result.created) created, \(result.changed) changed, \(result.moved) moved, in "
                    + "\(PlainText.count(result.transactions, "transaction")); \"peerd undo\" takes that back"
            )
        }
        if let parent = result.missingParent {
            try self.output.note(
                "The parent \(parent) is gone, or below the object; the object stays where it is, or is at the root."
            )
        }
        if result.missingProperties > 0 {
            try self.output.note(
                "Left as they are, since their values were not here when the snapshot was taken: "
                    + "\(result.missingProperties) of the properties."
            )
        }
    }

    func exportSnapshot(_ snapshot: String, to path: String?) async throws {
        let bytes = try await self.content(of: snapshot)
        guard let path else { return try self.output.write(bytes) }
        do {
            try bytes.withUnsafeBytes { try PrivateFile.write($0, to: path, existing: .refuse) }
        } catch is PrivateFile.AlreadyThere {
            throw CommandFailure(.failure, "\(path) exists; it was not changed. Name another file.")
        }
    }

    func importSnapshot(from file: ImportSource) async throws {
        var request = APIRequest(.post, "api", "snapshots", "import")
        request.body = .pieces(file.next)
        let snapshot: SnapshotAnswer
        do {
            snapshot = try await self.caller.answer(request)
        } catch {
            throw file.failure ?? error
        }
        try self.output.show(snapshot, snapshot.id)
    }

    func deleteSnapshot(_ snapshot: String) async throws {
        try await self.caller.send(APIRequest(.delete, "api", "snapshots", try ObjectArgument.checked(snapshot)))
    }

    /// Which objects of a tree are the last among their siblings; the depths are in tree order.
    private static func lastAmongSiblings(_ depths: [Int]) -> [Bool] {
        var isLast = [Bool](repeating: false, count: depths.count)
        // For each depth, whether a sibling follows.
        var isFollowed: [Bool] = []
        for (place, depth) in depths.enumerated().reversed() {
            if isFollowed.count > depth + 1 { isFollowed.removeSubrange((depth + 1)...) }
            while isFollowed.count <= depth { isFollowed.append(false) }
            isLast[place] = !isFollowed[depth]
            isFollowed[depth] = true
        }
        return isLast
    }

    private func content(of snapshot: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await self.caller.pieces(APIRequest(.get, "api", "snapshots", try ObjectArgument.checked(snapshot))) {
            bytes += $0
        }
        return bytes
    }

    private static func row(_ snapshot: SnapshotAnswer) -> [String] {
        [
            snapshot.id,
            PlainText.time(snapshot.timeMs),
            PlainText.count(snapshot.objects, "object"),
            PlainText.bytes(snapshot.bytes),
            snapshot.object,
            snapshot.name ?? "",
        ]
    }
}
