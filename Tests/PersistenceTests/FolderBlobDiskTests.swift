import CRDTCore
import Engine
import Glibc
import MergeModel
import Persistence
import SyncProtocol
import Testing

@Suite struct FolderBlobDiskTests {
    @Test func `a blob of several groups is copied in, sent leaf by leaf, and held on the other side`() throws {
        let folder = try TemporaryDirectory()
        #expect(mkdir(folder.path, 0o700) == 0)
        var source = BlobStore(disk: try FolderBlobDisk(path: folder.path + "/source"))
        var store = BlobStore(disk: try FolderBlobDisk(path: folder.path + "/target"))
        let content = (0..<(130 * BlobShape.leafByteCount + 77)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 4) }
        var copy = BlobStore<FolderBlobDisk>.Copy(number: 7)
        try source.append(content, to: &copy)
        let (root, shape) = try source.complete(copy)
        #expect(shape.groupCount == 3)
        var generator = SplitMix64(seed: 5)
        for leaf in (0..<shape.leafCount).shuffled(using: &generator) {
            let group = leaf >> BlobShape.groupLevel
            if try !store.look(atGroup: group, of: root, shape).groups.contains(group) {
                try store.take(try source.proof(group: group, of: root, shape), group: group, of: root, shape)
            }
            try store.take(try source.leaf(leaf, of: root, shape), leaf: leaf, of: root, shape)
            #expect(try store.leaf(leaf, of: root, shape) == source.leaf(leaf, of: root, shape))
        }
        try store.complete([root])
        #expect(try store.isIntact(root, shape))
        #expect(Set(try store.files()) == [.content(root), .tree(root)])
        // Not even its owner writes to a content by mistake, and nobody else reads it.
        var status = stat()
        #expect(stat(folder.path + "/target/" + BlobFile.content(root).path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o400)
        #expect(stat(folder.path + "/target/" + BlobFile.tree(root).path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        try store.discard(root)
        #expect(Set(try store.files()) == [.trash(root), .tree(root)])
        try store.erase(root)
        #expect(try store.files().isEmpty)
    }

    @Test func `no link leads out of the folder, and a strange name is left alone`() throws {
        let folder = try TemporaryDirectory()
        #expect(mkdir(folder.path, 0o700) == 0)
        let outside = folder.path + "/outside"
        #expect(mkdir(outside, 0o700) == 0)
        #expect(symlink(outside, folder.path + "/linked") == 0)
        #expect(throws: BlobDiskFailure.self) { try FolderBlobDisk(path: folder.path + "/linked") }
        let path = folder.path + "/media"
        let disk = try FolderBlobDisk(path: path)
        let root = BlobRoot(bytes: Bytes32(0xabcd << 48, 2, 3, 4))
        #expect(symlink(outside, path + "/ab") == 0)
        #expect(throws: BlobDiskFailure.self) { try disk.write([1], to: .content(root), at: 0) }
        #expect(unlink(path + "/ab") == 0)
        try disk.write([1], to: .tree(root), at: 0)
        #expect(symlink(outside, path + "/" + BlobFile.content(root).path) == 0)
        #expect(throws: BlobDiskFailure.self) { try disk.write([1], to: .content(root), at: 0) }
        #expect(throws: BlobDiskFailure.self) { try disk.byteCount(of: .content(root)) }
        try disk.remove(.content(root))
        let name = BlobFile.content(root).name
        for name in ["README", name.uppercased(), ".tree", name + ".tree.tree"] {
            let descriptor = open(path + "/ab/" + name, O_CREAT | O_WRONLY, 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
        }
        #expect(try disk.files(in: .held(0xab)) == [.tree(root)])
        #expect(try disk.files(in: .trash).isEmpty)
    }
}
