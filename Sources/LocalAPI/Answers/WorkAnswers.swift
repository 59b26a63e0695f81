internal import PeerdKit

/// What a compaction has dropped.
package struct CompactionAnswer: Answer {
    package var horizonMs: Int64
    package var examinedChanges: Int
    package var droppedWrites: Int
    package var droppedChanges: Int
    package var droppedBytes: Int
    package var fileBytesBefore: Int?
    package var fileBytesAfter: Int?
    package var shrinkFailure: String?
    package var lackingMachines: [String]

    init(_ report: CompactionReport) {
        (self.horizonMs, self.examinedChanges) = (report.horizon.millisecondsSince1970, report.examinedChangeCount)
        (self.droppedWrites, self.droppedChanges) = (report.droppedWriteCount, report.droppedChangeCount)
        self.droppedBytes = report.droppedByteCount
        (self.fileBytesBefore, self.fileBytesAfter) = (report.fileByteCounts?.before, report.fileByteCounts?.after)
        (self.shrinkFailure, self.lackingMachines) = (report.shrinkFailure, report.lackingMachines)
    }
}

/// What was erased of the past of a property.
package struct ErasureAnswer: Answer {
    package var erasedWrites: Int
    package var pending: Bool
    package var snapshots: [String]
    package var fileFailure: String?

    init(_ report: ErasureReport) {
        (self.erasedWrites, self.pending) = (report.erasedWriteCount, report.isPending)
        (self.snapshots, self.fileFailure) = (report.snapshots.map(\.description), report.fileFailure)
    }
}

/// What was taken in of a file.
package struct ImportAnswer: Answer {
    package var objects: Int
    package var notes: [String]
}

/// A snapshot of an object.
package struct SnapshotAnswer: Answer {
    package var id: String
    package var object: String
    package var name: String?
    package var timeMs: Int64
    package var objects: Int
    package var bytes: Int

    init(_ snapshot: ObjectSnapshot) {
        (self.id, self.object) = (snapshot.id.description, snapshot.object.description)
        (self.name, self.timeMs) = (snapshot.name, snapshot.date.millisecondsSince1970)
        (self.objects, self.bytes) = (snapshot.objectCount, snapshot.byteCount)
    }
}

package struct SnapshotList: Answer {
    package var snapshots: [SnapshotAnswer]
}

package struct SnapshotRestorationAnswer: Answer {
    package var created: Int
    package var changed: Int
    package var moved: Int
    package var transactions: Int
    package var missingParent: String?
    package var missingProperties: Int

    init(_ restoration: SnapshotRestoration) {
        (self.created, self.changed) = (restoration.createdCount, restoration.changedCount)
        (self.moved, self.transactions) = (restoration.movedCount, restoration.transactionCount)
        self.missingParent = restoration.missingParent?.description
        self.missingProperties = restoration.missingPropertyCount
    }
}
