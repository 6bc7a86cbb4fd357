package table

// network reaches other machines and services. The host is an effect of its
// own; a method, a body or a verb that changes something is marked.
const network = `
curl | args=h by=curl
  -0123469afgGIiJjkLlnNpqRsSvVZh -A= -b= -C= -e= -E=:r -H= -m= -P= -Q=:E -r= -t= -U= -u= -w= -x=:n -y= -Y= -z= --url=:H --compressed --fail --fail-with-body --fail-early --location --location-trusted --silent --show-error --verbose --insecure --head --include
  --get --globoff --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= --retry-connrefused --retry-all-errors --user-agent= --referer= --header= --cookie= --user= --write-out= --range= --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3
  --tlsv1.2 --tlsv1.3 --tls-max= --max-redirs= --max-filesize= --limit-rate= --progress-bar --no-progress-meter --parallel --parallel-max= --noproxy= --oauth2-bearer= --basic --digest --anyauth --negotiate --proto= --proto-default= --proto-redir= --path-as-is
  --no-buffer --raw --ipv4 --ipv6 --interface= --keepalive-time= --no-keepalive --styled-output --cert=:r --key=:r --cacert=:r --capath=:r --pass= --netrc --netrc-file=:r --unix-socket=:w --abstract-unix-socket=:n --next --url-query=
  -X=:M --request=:M -d=:E --data=:E --data-raw=:E --data-binary=:E --data-urlencode=:E --data-ascii=:E --json=:E -F=:E --form=:E --form-string=:E -T=:rE --upload-file=:rE --mail-from=:E --mail-rcpt=:E --quote=:E
  -o=:w --output=:w -O:w --remote-name:w --remote-name-all:w --output-dir=:w --create-dirs -D=:w --dump-header=:w -c=:w --cookie-jar=:w --trace=:w --trace-ascii=:w --stderr=:w --libcurl=:w --etag-save=:w --etag-compare=:r --hsts=:w --alt-svc=:w
  -K=:c --config=:c --proxy=:n --resolve=:n --connect-to=:n --doh-url=:n --preproxy=:n --socks5=:n --socks5-hostname=:n --socks4=:n --engine=:c --dns-servers=:n --haproxy-protocol:n --remote-header-name
wget | args=h by=wget
  -bcdEFhHkKLNnpqrSvVx46 -a=:w -A= -B= -D= -I= -l= -o=:w -Q= -R= -t= -T= -U= -w= -X= -nv -nc -nd -nH -np --quiet --verbose --no-verbose --spider --continue --timestamping --no-check-certificate --timeout= --tries= --user-agent= --header= --content-disposition
  --recursive --level= --no-parent --mirror --page-requisites --convert-links --no-clobber --show-progress --progress= --wait= --limit-rate= --user= --password= --max-redirect= --server-response --accept= --reject= --domains= --no-directories --cut-dirs= --retry-connrefused
  --post-data=:E --post-file=:rE --method=:M --body-data=:E --body-file=:rE -O=:w --output-document=:w -P=:w --directory-prefix=:w --output-file=:w --append-output=:w --save-cookies=:w --warc-file=:w --load-cookies=:r
  -i=:rn --input-file=:rn -e=:x --execute=:x --config=:c --use-askpass=:X --ca-certificate=:r
aria2c,axel,http,https,httpie,xh | args=h writes by=curl
  -X=:M -o=:w -d=:w --out=:w --dir=:w -i=:rn --method=:M -b -v -f:E -j
ssh,autossh,mosh | user args=h- by=ssh
  -1246AaCfGgKkMNnqsTtVvXxYy -B= -b= -c= -D= -E=:w -e= -I=:c -i= -J= -L= -l= -m= -O= -p= -P= -Q= -R= -S=:w -W= -w= -F=:c -o=:x
scp,sftp,rsync | by=remotecopy
  -aAcCdDghHIkLnpqrRSsStTuvVWxXyz123460 -P --archive --verbose --compress --recursive --delete:n --delete-after:n --delete-before:n --delete-during:n --delete-excluded:n --exclude= --include= --exclude-from=:r --include-from=:r --files-from=:rn --progress --partial --human-readable --stats
  --dry-run --update --existing --ignore-existing --checksum --links --perms --times --owner --group --info= --itemize-changes --size-only --inplace --bwlimit= --port= --timeout= --max-size= --min-size= --mkpath --filter= --relative --no-perms --no-owner --no-group --no-times --chmod= --chown=
  -e=:X --rsh=:X --rsync-path=:x --log-file=:w --backup-dir=:w --temp-dir=:w -M=:x --remote-option=:x --daemon:x --config=:c --password-file=:r --remove-source-files:n --partial-dir=:w --compare-dest= --copy-dest= --link-dest= --write-batch=:w --read-batch=:r --only-write-batch=:w
  -o=:n -F=:c -i= -l= -b= -J= -B --protocol= --out-format= --block-size= --max-delete= --numeric-ids --sparse --one-file-system --safe-links --copy-links --no-implied-dirs --delay-updates
ssh-keygen,gpg,openssl,age | args=- by=named
ssh-add,ssh-copy-id,certbot | args=-
nc,ncat,netcat,socat,telnet,ftp,tftp,lftp | external args=h by=netcat
  -46bCDdFhIklMNnrStUuvZz -c=:X -e=:X --exec=:X --sh-exec=:X --lua-exec=:c -p= -s= -w= -q= -i= -o=:w -x=:n -X= -T= -P=
ping,ping6,dig,nslookup,host,traceroute,tracepath,mtr,whois,nmap,finger | args=h
  -46AabBdDfhLnOqrRUvVTF -c= -i= -I= -l= -m= -M= -p= -Q= -s= -S= -t= -W= -w= -x= -k= -y= -oN=:w --script=:c
mail,mailx,sendmail,mutt,swaks,msmtp,s-nail | external args=-
git-lfs,hub | external args=-
gh,glab | sub first by=verbs
  -R= --repo= --hostname= --version:V --help:V
docker,podman,nerdctl | sub first by=verbs
  -D -l= --log-level= --debug --tls --tlsverify --version:V -v:V -H=:n --host=:n -c=:n --context=:n --config=:c --tlscacert=:r --tlscert=:r --tlskey=:r
docker ps,docker images,docker info,docker version,docker inspect,docker top,docker port,docker diff,docker history,docker logs,docker stats | ro args=-
  -aflnqst -f= -n= -t --all --filter= --format= --last= --latest --no-trunc --quiet --size --digests --tree --human? --type= --details --follow --since= --tail= --timestamps --until= --no-stream
docker container,docker image,docker volume,docker network,docker system,docker context,docker buildx,docker compose,docker builder,docker plugin,docker manifest | sub first by=verbs
  -f=:c --file=:c -p= --project-name= --profile= --env-file=:c --project-directory=:C --progress= --ansi= --version:V
docker container ls,docker container list,docker container ps,docker container inspect,docker container logs,docker container top,docker container port,docker image ls,docker image list,docker image inspect,docker image history,docker volume ls,docker volume list,docker volume inspect,docker network ls,docker network list,docker network inspect,docker system df,docker system info,docker context ls,docker context show | ro args=-
  -aflnqsvt -f= --all --filter= --format= --last= --latest --no-trunc --quiet --size --digests --verbose --follow --since= --tail= --timestamps --until=
docker exec,docker container exec,docker compose exec | wrap=1 user
  -ditT -e= -u= -w= --detach --env= --interactive --tty --user= --workdir= --privileged --detach-keys= --index= --no-tty --env-file=:r
docker run,docker create,docker container run,docker container create | wrap=1 user
  -diPtq -a= -c= -e= -h= -l= -m= -p= -u= -v= -w= --add-host= --annotation= --attach= --blkio-weight= --cap-add= --cap-drop= --cgroupns= --cidfile=:w --cpus= --cpu-shares= --cpuset-cpus= --detach --device= --dns= --entrypoint= --env= --env-file=:r --expose= --gpus= --group-add= --health-cmd=
  --hostname= --init --interactive --ip= --ipc= --isolation= --label= --link= --log-driver= --log-opt= --mac-address= --memory= --memory-swap= --mount= --name= --network= --net= --network-alias= --no-healthcheck --oom-kill-disable --pid= --pids-limit= --platform= --privileged --publish= --publish-all
  --pull= --quiet --read-only --restart= --rm --runtime= --security-opt= --shm-size= --sig-proxy? --stop-signal= --stop-timeout= --storage-opt= --sysctl= --tmpfs= --tty --ulimit= --user= --userns= --uts= --volume= --volume-driver= --volumes-from= --workdir=
docker compose run | wrap=1 user
  -diTtP -e= -l= -p= -u= -v= -w= --build --detach --entrypoint= --env= --interactive --name= --no-deps --no-TTY --publish= --quiet-pull --remove-orphans --rm --service-ports --use-aliases --user= --volume= --workdir= --label=
docker push,docker login,docker logout,docker image push,docker compose push,docker manifest push,docker context use,docker plugin push,docker trust | external args=-
docker build,docker image build,docker buildx build,docker compose build,docker compose up,docker compose down,docker compose ps,docker compose logs,docker compose config,docker compose pull,docker pull,docker stop,docker start,docker rm,docker rmi,docker tag,docker restart,docker kill,docker commit,docker cp,docker save,docker load | args=-
  -f=:n --push:E -o=:w --output=:w --iidfile=:w --metadata-file=:w --cache-to=:n
skopeo,crane,oras,regctl,cosign | external args=- by=verbs
kubectl,oc,k9s,kubectx,kubens | sub first by=verbs
  -n= -s= -v= --namespace= --context= --cluster= --user= --as= --as-group= --server= --token= --request-timeout= --insecure-skip-tls-verify --kubeconfig=:c --cache-dir= --certificate-authority=:r --client-key=:r --client-certificate=:r
kubectl exec,oc exec,oc rsh,kubectl debug | wrap=1 user
  -itqn= -c= -f= --container= --stdin --tty --quiet --namespace= --context= --image= --target= --kubeconfig=:c
helm,terraform,tofu,terragrunt,pulumi,cdk,sam,serverless,sls,eb,copilot,flyctl,fly,vercel,netlify,wrangler,firebase,heroku,railway,doctl,linode-cli,ansible,ansible-playbook,argocd,flux,vault,consul,nomad,packer | sub first long1 by=verbs
  -chdir=:C -n= --namespace= --kube-context= --kubeconfig=:c -version:V --version:V
aws,gcloud,az,gsutil,bq,s3cmd,rclone,mc,azcopy,ibmcloud,aliyun,oci | sub first by=verbs
  --profile= --region= --output= --query= --endpoint-url=:n --no-cli-pager --debug --project= --account= --format= --quiet -q -m -o= --version:V --subscription= --no-verify-ssl --cli-input-json=:c
`
